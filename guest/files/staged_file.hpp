#pragma once

#include "guest/files/file_call.hpp"

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

namespace corral::guest {

/// A regular file that is there already.
struct existing_file {
  unique_fd fd; ///< For writing; none while it is a program that runs.
  struct stat status {};
};

/// The directory and name that a change is for, links followed.
class destination {
public:
  /// Makes missing parent directories.
  static result<destination> open(const file_call& call);

  const unique_fd& directory() const { return directory_; }
  const std::string& name() const { return name_; }

  /// The file as it is now; nothing if there is none. `permission_denied` if it can't be written.
  result<std::optional<existing_file>> look(const file_call& call) const;

private:
  unique_fd directory_;
  std::string name_;
};

/// New content on its way to a file: kept in a file without a name, and put in place by `commit` or
/// not at all. A file keeps its mode, owner and group. It is written in place where a new one could
/// not stand for it: if it has several names, another owner, or a directory that takes no new
/// files; space is reserved first, so that what fails leaves the old content.
class staged_file {
public:
  /// `call` and `to` must outlive it.
  static result<staged_file> create(const file_call& call, const destination& to);

  staged_file(staged_file&& other) noexcept = default;
  staged_file& operator=(staged_file&&) = delete;
  ~staged_file();

  result<void> write(std::string_view bytes);

  /// Replaces the file's content; makes it if there is none.
  result<void> commit();

  /// Adds to its end instead, and cuts that off again if it fails.
  result<void> commit_append();

private:
  staged_file(const file_call& call, const destination& to) : call_{call}, to_{to} {}

  result<void> open_temporary();
  result<void> open_elsewhere(int refusal);
  bool adopt(const struct stat& old) const;
  result<void> publish(bool is_new);
  result<void> link_as(const std::string& name) const;
  result<void> rename_from(const std::string& name) const;
  result<void> overwrite(const existing_file& old) const;
  result<void> copy_to(const unique_fd& target) const;

  const file_call& call_;
  const destination& to_;
  unique_fd file_;
  std::string name_; // Of the temporary file, where it needs one.
  bool elsewhere_ = false;
  uint64_t size_ = 0;
};

} // namespace corral::guest
