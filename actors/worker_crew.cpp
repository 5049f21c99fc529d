#include "actors/worker_crew.hpp"

namespace corral {

namespace {

/// Made by CAF, not by a backend: the worker hung, died or never answered.
bool is_workers_own_failure(const caf::error& x) {
  return x.category() != caf::atom("corral");
}

error step_failed(std::string_view step) {
  fields details;
  details.set("step", step);
  return {errc::sandbox_runtime, "the backend did not " + std::string{step} + " it in time",
          details};
}

} // namespace

void worker_crew::start(provider_actor::pointer self, worker_factory make, limits x) {
  self_ = self;
  make_ = std::move(make);
  limits_ = x;
  for (size_t i = 0; i < limits_.workers; ++i)
    idle_.push_back(make_());
}

void worker_crew::create(const sandbox_spec& spec, created done) {
  add([this, spec, done](backend_worker_actor worker) {
    auto limit = std::chrono::duration_cast<caf::timespan>(limits_.create);
    self_->request(worker, limit, create_atom::value, spec)
        .then(
            [this, worker, done](const endpoint_ptr& x, bool discovered) {
              finished(worker, true);
              done(std::pair{x, discovered});
            },
            [this, worker, done](const caf::error& x) {
              finished(worker, !is_workers_own_failure(x));
              done(tl::unexpected{from_caf(x, step_failed("create"))});
            });
  });
}

void worker_crew::destroy(const std::string& id, bool purge, destroyed done) {
  add([this, id, purge, done](backend_worker_actor worker) {
    auto limit = std::chrono::duration_cast<caf::timespan>(limits_.destroy);
    self_->request(worker, limit, destroy_atom::value, id, purge)
        .then(
            [this, worker, done](caf::ok_atom) {
              finished(worker, true);
              done({});
            },
            [this, worker, done](const caf::error& x) {
              finished(worker, !is_workers_own_failure(x));
              done(tl::unexpected{from_caf(x, step_failed("destroy"))});
            });
  });
}

void worker_crew::add(job x) {
  jobs_.push_back(std::move(x));
  assign();
}

void worker_crew::assign() {
  while (!jobs_.empty() && !idle_.empty()) {
    auto worker = std::move(idle_.back());
    idle_.pop_back();
    auto next = std::move(jobs_.front());
    jobs_.pop_front();
    next(std::move(worker));
  }
}

void worker_crew::finished(const backend_worker_actor& worker, bool usable) {
  if (!usable)
    self_->send_exit(worker, caf::exit_reason::kill);
  idle_.push_back(usable ? worker : make_());
  assign();
}

backend_worker_actor::behavior_type backend_worker(backend_worker_actor::pointer,
                                                   std::shared_ptr<claimed_backend> backend) {
  return {
      [backend](create_atom, const sandbox_spec& spec) -> caf::result<endpoint_ptr, bool> {
        auto made = backend->obtain(spec);
        if (!made)
          return to_caf(made.error());
        return {endpoint_ptr{std::make_shared<const endpoint>(std::move(made->first))},
                made->second};
      },
      [backend](destroy_atom, const std::string& id, bool purge) -> caf::result<caf::ok_atom> {
        if (auto gone = backend->destroy(id, purge); !gone)
          return to_caf(gone.error());
        return caf::ok_atom::value;
      },
  };
}

} // namespace corral
