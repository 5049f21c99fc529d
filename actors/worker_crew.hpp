#pragma once

#include "messages/provider.hpp"
#include "providers/claimed_backend.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <deque>
#include <functional>

namespace corral {

/// Spawns a worker; a new one replaces a worker that ended or overran its limit.
using worker_factory = std::function<backend_worker_actor()>;

/// A provider's backend workers: hands each job to an idle one, in order, and tells how it went.
/// The callbacks run in the provider.
class worker_crew {
public:
  struct limits {
    size_t workers = 4;
    duration create = std::chrono::seconds{60};
    duration destroy = std::chrono::seconds{30};
  };

  /// The new sandbox's endpoint, and whether it had been running already.
  using created = std::function<void(result<std::pair<endpoint_ptr, bool>>)>;
  using destroyed = std::function<void(result<void>)>;

  void start(provider_actor::pointer self, worker_factory make, limits x);

  void create(const sandbox_spec& spec, created done);
  void destroy(const std::string& id, bool purge, destroyed done);

  size_t queued() const { return jobs_.size(); }

private:
  using job = std::function<void(backend_worker_actor)>;

  void add(job x);
  void assign();
  /// The worker is free again; after a failure of its own it is replaced.
  void finished(const backend_worker_actor& worker, bool usable);

  provider_actor::pointer self_ = nullptr;
  worker_factory make_;
  limits limits_;
  std::deque<job> jobs_;
  std::vector<backend_worker_actor> idle_;
};

/// Spawn detached, with a backend that outlives the actor system's use of it.
backend_worker_actor::behavior_type backend_worker(backend_worker_actor::pointer self,
                                                   std::shared_ptr<claimed_backend> backend);

} // namespace corral
