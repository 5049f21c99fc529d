#include "bridge/bridge_thread.hpp"

namespace corral {

bridge_thread::bridge_thread(caf::actor_system& sys, const zmq_loop::settings& where,
                             bridge_settings settings, provider_actor provider,
                             bridge_observer observe)
  : loop_{context_, where}, unit_{sys, loop_} {
  caf::actor_config cfg{&unit_};
  actor_ = sys.spawn_class<bridge, caf::no_spawn_options>(
    cfg, std::ref(loop_), std::ref(unit_), std::move(settings), std::move(provider),
    std::move(observe));
  auto& impl = *static_cast<bridge*>(caf::actor_cast<caf::abstract_actor*>(actor_));
  thread_ = std::thread{[this, &impl] {
    loop_.run({[&](auto routing_id, auto frames) { impl.receive(routing_id, std::move(frames)); },
               [&] { unit_.run_queued(); },
               [&](uint64_t tag, uint64_t bytes) { impl.taken(tag, bytes); }});
  }};
}

bridge_thread::~bridge_thread() {
  loop_.stop();
  thread_.join();
  // Nothing runs it any more, so it ends here and what it holds goes with it.
  caf::anon_send_exit(actor_, caf::exit_reason::kill);
  actor_ = nullptr;
  unit_.run_queued();
}

} // namespace corral
