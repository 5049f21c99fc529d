#pragma once

#include "messages/wire/error.hpp"
#include "os/range_lock.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace corral {

/// Which daemon has which owner's sandbox, for all daemons that share a data_dir. One lock file
/// there: a byte an id, held while its sandbox is looked for, made or removed; and a byte a daemon,
/// held for life, which the notes in `owners/` name. Safe to use from several threads.
class host_claims {
public:
  /// What other daemons are told.
  struct identity {
    std::string endpoint;  ///< Where to send who asks for a sandbox of ours.
    std::string state_dir; ///< Where our records are, for whoever cleans up after us.
  };

  /// Another daemon that has a sandbox, or had it when it died.
  struct holder {
    identity who;
    bool alive = false;
  };

  /// An id's lock.
  class claim {
  public:
    /// The other daemon on note; nothing if there is none, or it was an earlier run of ourselves.
    const std::optional<holder>& other() const { return other_; }

    /// Notes that the sandbox is ours. `sandbox_runtime` if that can't be written.
    result<void> take();
    /// Notes that nobody has it, unless another living daemon does.
    void drop();

  private:
    friend class host_claims;
    claim(const host_claims& all, std::string id, range_lock lock)
        : all_{all}, id_{std::move(id)}, lock_{std::move(lock)} {}

    const host_claims& all_;
    std::string id_;
    range_lock lock_;
    std::optional<holder> other_;
  };

  /// Takes a byte for this daemon. The error is for the operator.
  static result<host_claims> open(const std::filesystem::path& data_dir, identity me);

  /// Waits for an id's lock; `sandbox_runtime` after `limit`.
  result<claim> lock(const std::string& id, std::chrono::milliseconds limit) const;

private:
  host_claims(std::filesystem::path data_dir, identity me, uint64_t slot, range_lock life)
      : file_{data_dir / "owners.lock"}, notes_{data_dir / "owners"}, me_{std::move(me)},
        slot_{slot}, life_{std::move(life)} {}

  std::filesystem::path note_of(const std::string& id) const { return notes_ / id; }

  std::filesystem::path file_;
  std::filesystem::path notes_;
  identity me_;
  uint64_t slot_;
  range_lock life_;
};

/// What to answer who asks for a sandbox that a living daemon has.
error moved_to(const host_claims::identity& x);

} // namespace corral
