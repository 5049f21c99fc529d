// A sandbox's directories as temporary ones, and the two ends of one request.

#pragma once

#include "guest/files/file_service.hpp"
#include "os/temp_dir.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace corral::guest::test {

/// A payload in pieces; then the end, or a failure.
class scripted_payload : public payload_reader {
public:
  std::vector<std::string> pieces;
  std::optional<error> failure_at_end;
  std::function<void()> before_end;

  result<blob> next() override;

private:
  size_t given_ = 0;
};

struct reply {
  fields header;
  std::string content; ///< The payload.

  bool ok() const { return header.flag("ok") == true; }
  std::string code() const;
  std::string message() const;
  fields details() const;
  bool truncated() const { return header.flag("truncated") == true; }

  /// The `results`, a line each.
  std::vector<fields> lines() const;
  std::vector<std::string> paths() const;
};

class recording_writer : public reply_writer {
public:
  /// How often `cancelled` says no.
  std::optional<int> checks_before_cancel;
  std::function<void()> on_write;

  void finish(corral::message x) override;
  void begin(const fields& header, uint64_t total) override;
  result<void> write(blob piece) override;
  void end(const fields& trailer) override;
  bool cancelled() const override;

  reply wait();
  int answers() const { return answers_; }

private:
  void settle();

  std::mutex mutex_;
  std::condition_variable done_;
  reply reply_;
  int answers_ = 0;
  uint64_t promised_ = 0;
  mutable int checks_ = 0;
};

/// Directories workspace, uploads, outputs, skills (not writable) and outside, which is no mount.
struct sandbox {
  temp_dir home = std::move(*temp_dir::make("corral-files-"));
  file_settings settings;

  sandbox();

  file_service& service();

  reply call(op id, const fields& header, std::vector<std::string> payload = {});
  reply call(op id, const fields& header, std::shared_ptr<scripted_payload> in,
             std::shared_ptr<recording_writer> out);

  reply read(const std::string& path);
  reply write(const std::string& path, const std::string& content, bool append = false);
  reply replace(const std::string& path, const std::string& old, const std::string& now,
                bool all = false);
  reply list(const std::string& path, fields more = {});
  reply glob(const std::string& path, const std::string& pattern, fields more = {});
  reply grep(const std::string& path, const std::string& pattern, fields more = {});

  /// Where a path relative to the workspace, or a directory beside it, really is.
  std::filesystem::path at(const std::string& path) const {
    return home.path() / "workspace" / path;
  }
  std::filesystem::path beside(const std::string& path) const { return home.path() / path; }

  void put(const std::string& path, const std::string& content) const;
  std::string get(const std::string& path) const;
  /// Names in the workspace and all below, sorted.
  std::vector<std::string> names() const;

private:
  std::unique_ptr<file_service> service_;
};

void put_file(const std::filesystem::path& path, const std::string& content);
std::string get_file(const std::filesystem::path& path);

inline bool is_root() {
  return ::geteuid() == 0;
}

/// Takes root's powers over files from this thread and those it starts, and gives `directory` with
/// all in it to the user that remains. Nothing for an ordinary user, who has none.
class as_ordinary_user {
public:
  explicit as_ordinary_user(const std::filesystem::path& directory);
  ~as_ordinary_user();

  as_ordinary_user(const as_ordinary_user&) = delete;
  as_ordinary_user& operator=(const as_ordinary_user&) = delete;

private:
  bool was_root_;
};

} // namespace corral::guest::test
