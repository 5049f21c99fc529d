#pragma once

#include "messages/wire/error.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace corral {

/// In which pool each sandbox is: a thread lives in one. Pools are known by their place in the
/// configuration; the first is the default.
class pool_directory {
public:
  using time_point = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::hours memory_of_ended{1}; ///< As the pools' own.

  /// Somebody asks for the sandbox; the pool that is to serve it. `wanted` by name, or none: then
  /// the one that has it, else the default. `identity_collision` if another pool has it. Counts
  /// until `answered`.
  result<size_t> ask(const std::string& id, std::optional<size_t> wanted);
  void answered(const std::string& id);

  /// A pool has it from now on, or no longer.
  void there(const std::string& id, size_t pool);
  void gone(const std::string& id, size_t pool, time_point now);

  /// The pool of a sandbox by its id or a prefix; of one that ended within the last hour too. The
  /// default for an unknown one. `invalid_request` for a prefix that fits sandboxes of two pools.
  result<size_t> find(const std::string& id_or_prefix) const;

  void forget_ended(time_point now);

private:
  struct entry {
    size_t pool = 0;
    bool there = false;
    size_t asked = 0;
  };
  struct ended {
    size_t pool;
    time_point at;
  };

  std::map<std::string, entry> entries_;
  std::map<std::string, ended> ended_;
};

} // namespace corral
