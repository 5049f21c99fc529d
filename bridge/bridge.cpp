#include "bridge/bridge.hpp"

#include "actors/supervision.hpp"
#include "bridge/loop_thread.hpp"

#include <caf/send.hpp>

#include <algorithm>

namespace corral {

namespace {

constexpr auto silence_check = std::chrono::seconds{1};

int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

error provider_failed() {
  return {errc::internal, "the provider failed", {}};
}

} // namespace

bridge::bridge(caf::actor_config& cfg, zmq_loop& loop, bridge_settings settings,
               provider_actor provider, bridge_observer observe)
    : super{cfg}, loop_{loop}, settings_{std::move(settings)}, provider_{std::move(provider)},
      observe_{std::move(observe)}, open_{{settings_.max_requests, settings_.client_request_bytes}},
      keyed_{settings_.keyed}, recent_{settings_.recent} {}

bridge_actor start_bridge(caf::actor_system& sys, loop_thread& thread, bridge_settings settings,
                          provider_actor provider, bridge_observer observe) {
  caf::actor_config cfg{&thread.unit()};
  auto actor = sys.spawn_class<bridge, caf::no_spawn_options>(
      cfg, std::ref(thread.loop()), std::move(settings), std::move(provider), std::move(observe));
  auto& impl = *static_cast<bridge*>(caf::actor_cast<caf::abstract_actor*>(actor));
  thread.start(
      {[&impl](auto routing_id, auto frames) { impl.receive(routing_id, std::move(frames)); },
       {},
       [&impl](uint64_t tag, uint64_t bytes) { impl.taken(tag, bytes); }});
  return actor;
}

bridge::behavior_type bridge::make_behavior() {
  set_down_handler([this](caf::down_msg& x) { ended(x); });
  report_exceptions(
      this, [this](const std::string& text) { observe_("exception", fields{}.set("what", text)); });
  delayed_send(this, silence_check, tick_atom::value);
  return {
      [this](answer_atom, ticket_id ticket, const message_ptr& x) {
        answer(ticket, std::move(*x));
      },
      [this](data_atom, ticket_id ticket, const message_ptr& x) { event(ticket, x); },
      [this](retired_atom, ticket_id ticket) { reroute(ticket); },
      [this](drain_atom) { draining_ = true; },
      [this](tick_atom) { look_for_silent_clients(); },
  };
}

// -- arrival --

void bridge::receive(const std::string& routing_id, std::vector<zmq::message_t> frames) {
  super::context(&unit());
  if (frames.empty())
    return;
  // Without keys nobody is asked for one, and what a peer says of itself counts for nothing.
  std::string sender{settings_.who.has_keys() ? zmq_loop::sender_of(frames.front()) : ""};
  admit(routing_id, sender, read_frames(std::move(frames)));
}

void bridge::admit(const std::string& routing_id, const std::string& sender, arrival x) {
  auto touched = clients_.touch(routing_id, now(), sender);
  if (!touched)
    return static_cast<void>(++dropped_);
  auto& client = *touched;
  auto who = settings_.who.find(sender.empty() ? principals::ipc : sender);
  if (auto why = unwelcome(routing_id, who))
    x.what = tl::unexpected{std::move(*why)};
  if (!x.what || (client.forgotten && x.what->spec->id != op::hello)) {
    if (x.id.empty() || client.forgotten) {
      ++dropped_;
      return;
    }
    return refuse(routing_id, x.from_req_socket, x.id, x.what.error());
  }
  if (!x.what->spec->has_reply)
    return without_reply(client.key, *x.what);
  if (auto why = too_fast(client, *x.what->spec))
    return refuse(routing_id, x.from_req_socket, x.id, *why);
  auto what = std::make_shared<const corral::request>(std::move(*x.what));
  call c{routing_id, x.from_req_socket, what, who, {}, {}, {}, now(), 0, 0, 0, 0};
  auto [verdict, ticket] =
      open_.add({client.key, what->id, what->body.payload_size(), std::move(c)});
  if (verdict == requests::admission::ok)
    return serve(ticket);
  refuse(routing_id, x.from_req_socket, what->id,
         verdict == requests::admission::duplicate
             ? error{errc::invalid_request, "a request with this id is in flight already", {}}
             : too_many(verdict == requests::admission::client_full));
}

void bridge::serve(ticket_id ticket) {
  if (!refused(ticket) && permitted(ticket))
    dispatch(ticket);
}

void bridge::dispatch(ticket_id ticket) {
  auto& r = *open_.find(ticket)->context.what;
  switch (r.spec->id) {
  case op::hello:
    return hello(ticket);
  case op::ping:
    return answer(ticket, make_reply(fields{}.set("boot", settings_.boot).set("now", unix_ms())));
  case op::acquire:
    return acquire(ticket);
  case op::get:
    return get(ticket);
  case op::release:
    return release(ticket);
  case op::destroy:
    return destroy(ticket);
  case op::list:
    return list(ticket);
  case op::stats:
    return stats(ticket);
  case op::reload:
    return reload(ticket);
  case op::cancel:
    return cancel(ticket);
  case op::input:
    return input(ticket);
  case op::result:
    return result(ticket);
  default:
    return route_request(ticket);
  }
}

bool bridge::refused(ticket_id ticket) {
  auto& r = *open_.find(ticket)->context.what;
  auto harmless = r.spec->id == op::ping || r.spec->id == op::cancel || r.spec->id == op::input
                  || r.spec->id == op::release || r.spec->id == op::stats
                  || r.spec->id == op::result;
  if (draining_ && !harmless) {
    answer(ticket, error{errc::shutting_down, "the daemon is shutting down", {}});
    return true;
  }
  auto pool = r.to.pool.empty() ? r.body.header.text("pool").value_or("") : r.to.pool;
  if (!pool.empty() && !find_pool(pool)) {
    std::string known;
    for (auto& x : settings_.pools)
      known += (known.empty() ? "" : ", ") + x.name;
    answer(ticket, error{errc::invalid_request,
                         "there is no pool \"" + pool + "\"; this daemon has: " + known,
                         {}});
    return true;
  }
  auto size = r.spec->file ? r.body.header.integer("size").value_or(0) : 0;
  if (size > settings_.transfer_max_bytes) {
    answer(ticket, error{errc::file_too_large,
                         "a transfer is limited to " + std::to_string(settings_.transfer_max_bytes)
                             + " bytes",
                         fields{}.set("limit", settings_.transfer_max_bytes)});
    return true;
  }
  return false;
}

void bridge::without_reply(const std::string& client, const corral::request& r) {
  auto ticket = open_.find(client, *r.body.header.text("re"));
  if (ticket == 0)
    return; // It may just have ended.
  auto& c = open_.find(ticket)->context;
  if (r.spec->id == op::data)
    return upload(ticket, r);
  if (c.sandbox)
    super::send(c.sandbox, credit_atom::value, ticket, uint64_t{0}, *r.body.header.integer("seq"));
}

// -- requests that the bridge or the provider answers --

const pool_facts* bridge::find_pool(const std::string& name) const {
  auto i = std::find_if(settings_.pools.begin(), settings_.pools.end(),
                        [&](auto& x) { return x.name == name; });
  return i != settings_.pools.end() ? &*i : nullptr;
}

template <class... Ts>
void bridge::ask_provider(ticket_id ticket, Ts&&... xs) {
  request(provider_, caf::infinite, std::forward<Ts>(xs)...)
      .then(
          [this, ticket](const fields_ptr& x) { answer(ticket, make_reply(*x)); },
          [this, ticket](const caf::error& x) { answer(ticket, from_caf(x, provider_failed())); });
}

void bridge::hello(ticket_id ticket) {
  auto& c = open_.find(ticket)->context;
  auto& h = c.what->body.header;
  std::chrono::milliseconds heartbeat{h.integer("heartbeat_ms").value_or(0)};
  auto before = *clients_.find(c.routing_id);
  auto known = clients_.hello(c.routing_id, h.text("client").value_or(""),
                              h.text("instance").value_or(""), heartbeat, now());
  if (!known)
    return answer(ticket, known.error());
  auto& after = *clients_.find(c.routing_id);
  // What it leased under another name, nobody would be there to keep.
  if (client_registry::may_lease(before)
      && (before.key != after.key || !client_registry::may_lease(after)))
    caf::anon_send(provider_, release_atom::value, before.key);
  fields x;
  x.set("server", "corral/" + settings_.version).set("boot", settings_.boot);
  std::vector<std::string> names;
  for (auto& pool : settings_.pools)
    names.push_back(pool.name);
  x.set("pools", names).set("limits", settings_.limits);
  if (auto events = events_for(*c.who); !events.empty())
    x.set("events", events);
  answer(ticket, make_reply(x.set("now", unix_ms())));
}

void bridge::acquire(ticket_id ticket) {
  auto& e = *open_.find(ticket);
  auto& h = e.context.what->body.header;
  auto client = clients_.find(e.context.routing_id);
  acquire_order order{{h.text("user").value_or("default"), h.text("thread").value_or("")},
                      e.client,
                      client && client_registry::may_lease(*client),
                      {},
                      h.text("pool").value_or("")};
  if (auto wait = h.integer("wait_ms"))
    order.wait = std::chrono::milliseconds{*wait};
  request(provider_, caf::infinite, acquire_atom::value, order)
      .then(
          [this, ticket, order](const grant& g) {
            // Those who wait for the same target go first: they came before whoever comes next.
            if (!order.who.thread.empty())
              resolved("t:" + g.who.user + ":" + g.who.thread, g);
            resolved("s:" + g.id, g);
            fields x;
            x.set("sandbox", g.id).set("origin", g.origin).set("session", g.session);
            if (auto pool = find_pool(g.pool))
              x.set("provider", pool->provider).set("capabilities", pool->capabilities);
            if (!g.lease.empty())
              x.set("lease", g.lease);
            answer(ticket, make_reply(x));
          },
          [this, ticket](const caf::error& x) { answer(ticket, from_caf(x, provider_failed())); });
}

void bridge::release(ticket_id ticket) {
  auto& e = *open_.find(ticket);
  auto& h = e.context.what->body.header;
  if (h.flag("all") == true)
    return ask_provider(ticket, release_atom::value, e.client);
  if (!h.has("sandbox"))
    return answer(ticket, error{errc::invalid_request,
                                "release: give \"sandbox\" and \"lease\", or \"all\": true",
                                {}});
  ask_provider(ticket, release_atom::value, e.client, *h.text("sandbox"),
               h.text("lease").value_or(""));
}

void bridge::destroy(ticket_id ticket) {
  auto& e = *open_.find(ticket);
  auto& r = *e.context.what;
  auto purge = r.body.header.flag("purge").value_or(false);
  request(provider_, caf::infinite, destroy_atom::value, r.to.sandbox, e.client,
          r.body.header.flag("force").value_or(false), purge)
      .then(
          [this, ticket, purge](const fields_ptr& x) {
            if (auto id = x->text("sandbox"); id && purge)
              forget_keys(*id); // What they did is gone.
            answer(ticket, make_reply(*x));
          },
          [this, ticket](const caf::error& x) { answer(ticket, from_caf(x, provider_failed())); });
}

void bridge::get(ticket_id ticket) {
  ask_provider(ticket, inspect_atom::value, open_.find(ticket)->context.what->to.sandbox);
}

void bridge::list(ticket_id ticket) {
  auto& h = open_.find(ticket)->context.what->body.header;
  request(provider_, caf::infinite, list_atom::value, h.text("pool").value_or(""),
          h.text("state").value_or(""), h.text("user").value_or(""))
      .then(
          [this, ticket](const std::vector<fields>& rows) {
            auto e = open_.find(ticket);
            if (!e)
              return;
            std::string lines;
            size_t count = 0;
            for (auto& x : rows)
              if (e->context.who->may_name(x.text("user").value_or(""))) {
                lines.append(x.dump()).append("\n");
                ++count;
              }
            auto reply = make_reply(fields{}.set("count", count));
            answer(ticket, reply.add_part("results", blob::take(std::move(lines))));
          },
          [this, ticket](const caf::error& x) { answer(ticket, from_caf(x, provider_failed())); });
}

void bridge::stats(ticket_id ticket) {
  request(provider_, caf::infinite, stats_atom::value)
      .then(
          [this, ticket](const std::vector<fields>& pools) {
            answer(ticket, make_reply(counters().set("pools", pools)));
          },
          [this, ticket](const caf::error& x) { answer(ticket, from_caf(x, provider_failed())); });
}

void bridge::reload(ticket_id ticket) {
  if (open_.find(ticket)->context.who->name != principals::ipc)
    return answer(ticket, error{errc::forbidden, "reload: only for users of the socket", {}});
  if (!settings_.reload)
    return answer(ticket, error{errc::invalid_request, "reload: this daemon has no file", {}});
  request(settings_.reload, caf::infinite, reload_atom::value)
      .then([this, ticket](const fields_ptr& x) { answer(ticket, make_reply(*x)); },
            [this, ticket](const caf::error& x) {
              answer(ticket, from_caf(x, {errc::internal, "the reload failed", {}}));
            });
}

fields bridge::counters() const {
  fields latency, errors, x;
  for (auto& [name, h] : latency_) {
    fields row;
    row.set("count", h.count()).set("p50_us", h.percentile_us(0.5));
    latency.set(name, row.set("p99_us", h.percentile_us(0.99)));
  }
  for (auto& [code, n] : errors_)
    errors.set(code, n);
  x.set("boot", settings_.boot).set("clients", clients_.size()).set("open", open_.size());
  return x.set("dropped", dropped_).set("latency", latency).set("errors", errors);
}

void bridge::look_for_silent_clients() {
  delayed_send(this, silence_check, tick_atom::value);
  auto late = looked_ ? now() - *looked_ - silence_check : duration::zero();
  looked_ = now();
  if (late > 2 * silence_check)
    clients_.shift(late); // This process was stopped; what they sent may be waiting unread.
  for (auto& routing_id : std::set{backlogged_})
    go_on_sending(routing_id);
  auto silent = clients_.take_silent(now(), [this](auto& key) { return open_.has(key); });
  for (auto& x : silent)
    if (client_registry::may_lease(x)) {
      observe_("client gone", fields{}.set("client", x.name));
      caf::anon_send(provider_, release_atom::value, x.key);
    }
}

} // namespace corral
