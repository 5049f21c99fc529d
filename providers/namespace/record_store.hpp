#pragma once

#include "messages/wire/owner.hpp"
#include "os/error.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace corral::jail {

/// A process that is not confused with a later one of the same pid.
struct process_name {
  pid_t pid = 0; ///< 0: not known yet.
  uint64_t start_time = 0;
};

/// What a later daemon needs to find, adopt or end a sandbox.
struct sandbox_record {
  std::string id;
  std::string pool;
  owner who;
  bool anonymous = false;
  uid_t uid = 0;
  process_name outer; ///< corral-launch, then bwrap, outside of the sandbox.
  process_name guest; ///< PID 1 of the sandbox.
  std::string secret;
  std::string digest; ///< Of the settings it was made with.

  std::string to_json() const;
  /// Nothing for a text that isn't a whole, valid record.
  static std::optional<sandbox_record> from_json(std::string_view text);
};

/// One file a sandbox, in a directory that only the daemon can enter.
class record_store {
public:
  /// Makes the directory (0700).
  static os_result<record_store> open(const std::filesystem::path& directory);

  /// Replaces the record in one step. Not synced to the disk: no sandbox outlives a power failure.
  os_result<void> write(const sandbox_record& record) const;

  /// Nothing if there is none, or none that can be read.
  std::optional<sandbox_record> read(const std::string& id) const;

  /// Gone already is success.
  os_result<void> remove(const std::string& id) const;

  /// The ids of all record files, readable or not. Other files are none of ours.
  std::vector<std::string> ids() const;

private:
  explicit record_store(std::filesystem::path directory) : directory_{std::move(directory)} {}

  std::filesystem::path path_of(const std::string& id) const { return directory_ / (id + ".json"); }

  std::filesystem::path directory_;
};

} // namespace corral::jail
