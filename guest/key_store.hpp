#pragma once

#include "messages/wire/fields.hpp"

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace corral::guest {

/// How a command ended, kept for whoever asks by its key.
struct retained_result {
  fields outcome;
  std::string out;
  std::string err;

  size_t size() const { return out.size() + err.size(); }
};

/// What makes an exec at-most-once: each key stands for one command, which runs once. Its result is
/// kept for `ttl`; when memory runs out the oldest outputs go first, the keys and outcomes stay.
class key_store {
public:
  using time_point = std::chrono::steady_clock::time_point;

  struct limits {
    std::chrono::milliseconds ttl{600'000};
    size_t keys = 10'000;
    size_t stream_bytes = 64 * 1024; ///< Of each stream of a result.
    size_t memory = 8 * 1024 * 1024; ///< Of all outputs.
  };

  enum class claim : uint8_t {
    run,      ///< New: the caller runs it and calls `finish` or `abandon`.
    join,     ///< It is running.
    finished, ///< Its result is there.
    conflict, ///< The key stands for another command.
    full,     ///< No more keys.
  };

  key_store() = default;
  explicit key_store(limits x) : limits_{x} {}
  key_store(const key_store&) = delete;
  key_store& operator=(const key_store&) = delete;
  void set_limits(limits x) { limits_ = x; }

  claim begin(const std::string& key, const std::string& digest, time_point now);
  void finish(const std::string& key, retained_result x, time_point now);
  /// The command did not run: the key is free again.
  void abandon(const std::string& key);

  const retained_result* find(const std::string& key) const;

  void expire(time_point now);
  std::optional<time_point> next_expiry() const;

  /// The newest keys first, at most `count`.
  std::vector<std::string> keys(size_t count) const;
  size_t memory() const { return memory_; }

private:
  struct entry {
    std::string digest;
    std::optional<retained_result> result;
    time_point expires;
  };

  void shrink();

  limits limits_;
  size_t memory_ = 0;
  std::unordered_map<std::string, entry> entries_;
  std::list<std::string> finished_; // Oldest first, which is the order of expiry too.
  std::list<std::string>::iterator whole_ = finished_.end(); // The first that may have its output.
};

/// SHA-256 of all parts, each with its length, as 64 hex digits.
std::string digest_of(std::initializer_list<std::string_view> parts);

} // namespace corral::guest
