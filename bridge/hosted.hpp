#pragma once

#include <caf/actor_config.hpp>
#include <caf/actor_system.hpp>
#include <caf/execution_unit.hpp>
#include <caf/stateful_actor.hpp>

#include <utility>

namespace corral {

/// An event-based actor that runs on one execution unit only, whoever sends to it: what
/// `caf::detached` is to a thread of its own, this is to a thread that many actors share. See
/// docs/decisions.
template <class Base>
class hosted : public Base {
public:
  explicit hosted(caf::actor_config& cfg) : Base{cfg}, unit_{*cfg.host} {}

  using Base::enqueue;

  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    Base::enqueue(std::move(what), &unit_);
  }

  void enqueue(caf::strong_actor_ptr sender, caf::message_id mid, caf::message content,
               caf::execution_unit*) override {
    Base::enqueue(std::move(sender), mid, std::move(content), &unit_);
  }

protected:
  caf::execution_unit& unit() { return unit_; }

private:
  caf::execution_unit& unit_;
};

/// `sys.spawn(fun, xs...)` on the given unit. `fun` takes a stateful pointer or an actor's pointer
/// first.
template <class F, class... Ts>
auto spawn_on(caf::actor_system& sys, caf::execution_unit& unit, F fun, Ts&&... xs) {
  using impl = caf::infer_impl_from_fun_t<F>;
  caf::detail::init_fun_factory<impl, F> factory;
  caf::actor_config cfg{&unit};
  cfg.init_fun = factory(std::move(fun), std::forward<Ts>(xs)...);
  return caf::actor_cast<typename caf::infer_handle_from_fun<F>::type>(
      sys.spawn_impl<hosted<impl>, caf::no_spawn_options>(cfg));
}

} // namespace corral
