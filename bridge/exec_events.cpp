// What the bridge tells subscribers of execs: never what was run, nor what it printed.

#include "bridge/bridge.hpp"

namespace corral {

fields_ptr subject_of(const grant& g) {
  fields x;
  x.set("sandbox", g.id).set("pool", g.pool).set("user", g.who.user);
  g.who.thread.empty() ? x.set("thread", nullptr) : x.set("thread", g.who.thread);
  return std::make_shared<const fields>(std::move(x));
}

void bridge::exec_started(requests::entry& e) {
  auto& c = e.context;
  if (c.what->spec->id != op::exec || !c.subject || std::exchange(c.started, true))
    return;
  settings_.publish("exec.started", *c.subject, fields{}.set("request", e.id));
}

/// Follows every exec.started, exactly once: an exec has one reply.
void bridge::exec_finished(requests::entry& e, const fields& reply) {
  if (reply.has("session"))
    exec_started(e); // It was over before its guest told of the start.
  if (!e.context.started)
    return;
  fields x;
  x.set("request", e.id);
  if (auto failed = reply.object("error"))
    x.set("error", failed->text("code").value_or(""));
  for (auto name : {"exit_code", "duration_ms"})
    if (auto value = reply.integer(name))
      x.set(name, *value);
    else if (reply.is_null(name))
      x.set(name, nullptr);
  for (auto name : {"timed_out", "cancelled"})
    if (auto value = reply.flag(name))
      x.set(name, *value);
  settings_.publish("exec.finished", *e.context.subject, x);
}

} // namespace corral
