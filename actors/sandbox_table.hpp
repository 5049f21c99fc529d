#pragma once

#include "messages/provider.hpp"

#include <caf/typed_response_promise.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace corral {

/// What a pool knows of one sandbox.
struct sandbox_slot {
  enum class phase {
    waiting,  ///< For room in the pool.
    starting, ///< Being made, or its guest has not said hello.
    ready,
    probing,  ///< Warm, and asked whether it still answers.
    retiring, ///< Asked whether it may be taken away.
    ending,   ///< Being destroyed.
  };
  /// Someone who waits for it to be ready; when it ends instead, a fresh one is made for them.
  struct waiter {
    acquire_order order;
    caf::typed_response_promise<grant> promise;
    time_point until; ///< It waits for room no longer than this.
  };

  /// Exists, or is being made.
  bool is_there() const { return state != phase::waiting && state != phase::ending; }

  std::string id;
  owner who;
  bool anonymous = false;
  phase state = phase::starting;
  std::string origin = "created";
  sandbox_actor actor;
  int64_t session = 0;
  bool had_turn = false; ///< Was taken from the queue, and goes back to where it was.
  bool stale = false;    ///< Made with settings that are not in force any more.
  bool doomed = false;   ///< To be destroyed as soon as nothing uses it.
  bool purge = false;
  bool was_ready = false; ///< Else it never was, as far as anyone has been told.
  int failed_destroys = 0;
  time_point since{};                 ///< When making it began; once it was ready, when that was.
  std::optional<time_point> deadline; ///< For what its phase waits for.
  std::function<void(const retirement&)> on_retire_answer; ///< Set while retiring.
  std::vector<waiter> waiters;
  std::vector<caf::typed_response_promise<fields_ptr>> destroyers;
};

/// The sandboxes of a pool by id, and those that ended within the last hour.
class sandbox_table {
public:
  static constexpr duration memory_of_ended = std::chrono::hours{1};

  sandbox_slot& add(std::string id, owner who, bool anonymous);
  void erase(const std::string& id, owner who, time_point now);
  /// Erases one that never was: its id is unknown afterwards.
  void forget(const std::string& id) { slots_.erase(id); }

  sandbox_slot* find(const std::string& id);
  sandbox_slot* find(const caf::actor_addr& actor);

  /// By id or by a prefix of at least `min_id_prefix` digits that fits just one.
  result<sandbox_slot*> resolve(const std::string& id_or_prefix);

  /// Whose a sandbox is or, if it ended within the last hour, was; by its whole id.
  std::optional<owner> owner_of(const std::string& id) const;

  /// Slots that are neither waiting nor ending: what counts against `replicas`.
  size_t occupied() const;
  size_t occupied_by(const std::string& user) const;
  size_t size() const { return slots_.size(); }

  void forget_ended(time_point now);

  auto begin() { return slots_.begin(); }
  auto end() { return slots_.end(); }
  auto begin() const { return slots_.begin(); }
  auto end() const { return slots_.end(); }

private:
  std::map<std::string, sandbox_slot> slots_;
  struct ended {
    time_point at;
    owner who;
  };

  std::map<std::string, ended> ended_;
};

std::string_view to_string(sandbox_slot::phase x);

} // namespace corral
