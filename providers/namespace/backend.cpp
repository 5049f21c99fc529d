#include "providers/namespace/backend.hpp"

#include "providers/namespace/maker.hpp"
#include "providers/namespace/probe.hpp"

namespace corral {

namespace_backend::namespace_backend(std::unique_ptr<jail::sandbox_maker> maker)
    : maker_{std::move(maker)} {}

namespace_backend::~namespace_backend() {
  auto running = std::move(running_);
  for (auto& [id, outer] : running)
    if (!leaving_)
      static_cast<void>(maker_->unmake(id, false, outer ? &*outer : nullptr));
    else if (outer)
      outer->release();
  maker_->cgroups().remove_parents();
}

result<std::unique_ptr<namespace_backend>> namespace_backend::open(namespace_settings settings) {
  using maker_ptr = std::unique_ptr<jail::sandbox_maker>;
  return jail::sandbox_maker::open(std::move(settings)).map([](maker_ptr&& maker) {
    return std::unique_ptr<namespace_backend>{new namespace_backend{std::move(maker)}};
  });
}

backend_traits namespace_backend::traits() const {
  backend_traits result;
  result.kind = "namespace";
  result.adoptable = true;
  return result;
}

result<void> namespace_backend::probe() {
  return jail::probe_isolation(*maker_);
}

std::vector<std::string> namespace_backend::warnings() const {
  return maker_->warnings();
}

/// The cause goes to the log, the rest to whoever asked.
error namespace_backend::report(jail::trouble trouble) const {
  if (auto& log = maker_->settings().report)
    log(trouble.cause);
  return std::move(trouble.told);
}

bool namespace_backend::reserve(const std::string& id) {
  std::lock_guard lock{mutex_};
  return running_.try_emplace(id).second;
}

result<endpoint> namespace_backend::create(const sandbox_spec& spec) {
  if (!reserve(spec.id))
    return failure(errc::sandbox_runtime, "the sandbox exists already",
                   fields{}.set("step", "record"));
  auto made = maker_->make(spec, maker_->guest(spec.id));
  std::lock_guard lock{mutex_};
  if (!made) {
    running_.erase(spec.id);
    return tl::unexpected{report(std::move(made.error()))};
  }
  running_[spec.id] = std::move(made->outer);
  return endpoint{spec.id, spec.who, std::make_shared<unique_fd>(std::move(made->listener)),
                  made->record.guest.pid, made->record.secret};
}

result<endpoint> namespace_backend::discover(const std::string& id) {
  auto none = failure(errc::sandbox_not_found, "no earlier run left this sandbox");
  if (!is_sandbox_id(id) || !healthy(id) || !reserve(id))
    return none;
  auto found = maker_->adopt(id);
  if (found)
    return endpoint{id,
                    found->record.who,
                    std::make_shared<unique_fd>(std::move(found->listener)),
                    found->record.guest.pid,
                    found->record.secret,
                    found->stale};
  if (found.error().told.code != errc::sandbox_not_found)
    static_cast<void>(report(std::move(found.error())));
  std::lock_guard lock{mutex_};
  running_.erase(id);
  return none;
}

void namespace_backend::leave_running() {
  std::lock_guard lock{mutex_};
  leaving_ = true;
}

result<void> namespace_backend::destroy(const std::string& id, bool purge) {
  if (!is_sandbox_id(id))
    return failure(errc::invalid_request, "not a sandbox id");
  decltype(running_)::node_type ours;
  {
    std::lock_guard lock{mutex_};
    ours = running_.extract(id);
  }
  auto gone = maker_->unmake(id, purge, ours && ours.mapped() ? &*ours.mapped() : nullptr);
  if (gone)
    return {};
  if (ours) {
    // It may run still: the next attempt needs its process.
    std::lock_guard lock{mutex_};
    running_.insert(std::move(ours));
  }
  return tl::unexpected{report(std::move(gone.error()))};
}

result<void> namespace_backend::end_left(const std::string& state_dir, const std::string& id) {
  return maker_->end_left(state_dir, id).map_error([this](auto&& why) {
    return report(std::forward<decltype(why)>(why));
  });
}

std::vector<std::string> namespace_backend::list() {
  auto result = maker_->ids();
  std::lock_guard lock{mutex_};
  std::erase_if(result, [&](auto& id) { return running_.count(id) > 0; });
  return result;
}

bool namespace_backend::healthy(const std::string& id) {
  auto record = maker_->records().read(id);
  return record && record->guest.pid != 0
         && foreign_process::open(record->guest.pid, record->guest.start_time)
                .map([](auto&& process) { return !process.wait_for_end({}); })
                .value_or(false);
}

std::optional<memory_counters> namespace_backend::memory(const std::string& id) const {
  return maker_->cgroups().memory_events(id);
}

} // namespace corral
