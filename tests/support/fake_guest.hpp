// A guest at its link's typed handle, and the bridge's place to take answers.

#pragma once

#include "messages/sandbox.hpp"
#include "tests/support/virtual_system.hpp"

#include <functional>
#include <map>
#include <vector>

namespace corral::test {

/// Stands for a link and the guest behind it: keeps what it was sent, and says what the test tells
/// it.
struct fake_guest {
  link_actor link;
  sandbox_actor sandbox; ///< Whom it reports to.
  std::vector<message> sent;
  std::vector<std::pair<ticket_id, std::string>> data;
  std::map<ticket_id, uint64_t> credits;
  std::function<void(const message&)> on_message; ///< Answers by itself, if set.

  link_actor make(virtual_system& sys, const sandbox_actor& owner) {
    sandbox = owner;
    link = sys.spawn([this](link_actor::pointer) -> link_actor::behavior_type {
      return {
          [this](send_atom, const message_ptr& x) {
            sent.push_back(*x);
            if (on_message)
              on_message(*x);
          },
          [this](data_atom, ticket_id re, const blob& x, bool) { data.emplace_back(re, x.view()); },
          [this](credit_atom, ticket_id re, uint64_t bytes) { credits[re] += bytes; },
      };
    });
    return link;
  }

  void say_hello(int64_t session = 1, fields more = {}) {
    caf::anon_send(sandbox, up_atom::value,
                   fields_ptr{std::make_shared<const fields>(more.set("session", session))});
  }

  void say(ticket_id re, message x) {
    x.header.set("re", re);
    caf::anon_send(sandbox, answer_atom::value,
                   message_ptr{std::make_shared<message>(std::move(x))});
  }
  void reply(ticket_id re, const fields& x = {}) { say(re, make_reply(x)); }
  void started(ticket_id re) {
    message x;
    x.header.set("event", "started");
    say(re, std::move(x));
  }

  void die() { caf::anon_send_exit(link, caf::exit_reason::kill); }

  /// The tickets of the messages with this op, in order.
  std::vector<ticket_id> got(std::string_view op) const {
    std::vector<ticket_id> result;
    for (auto& x : sent)
      if (x.header.text("op") == op)
        result.push_back(static_cast<ticket_id>(*x.header.integer("re")));
    return result;
  }
};

/// Takes answers as the bridge does.
struct fake_bridge {
  answer_sink sink;
  std::map<ticket_id, std::vector<message>> answers;
  std::vector<std::pair<ticket_id, message>> events;
  std::vector<ticket_id> retired;

  explicit fake_bridge(virtual_system& sys) {
    sink = sys.spawn([this](answer_sink::pointer) -> answer_sink::behavior_type {
      return {
          [this](answer_atom, ticket_id x, const message_ptr& m) { answers[x].push_back(*m); },
          [this](data_atom, ticket_id x, const message_ptr& m) { events.emplace_back(x, *m); },
          [this](retired_atom, ticket_id x) { retired.push_back(x); },
      };
    });
  }

  /// The one reply to a ticket; fails the test if there is none or another.
  const message& reply(ticket_id x) {
    REQUIRE_MESSAGE(answers[x].size() == 1,
                    "ticket " << x << " has " << answers[x].size() << " replies");
    return answers[x].front();
  }
  bool answered(ticket_id x) { return !answers[x].empty(); }

  /// The error code of a reply; empty for a success.
  std::string code(ticket_id x) {
    auto failed = reply(x).header.object("error");
    return failed ? failed->text("code").value_or("?") : "";
  }
  /// `details.started` of a sandbox_lost.
  std::string started(ticket_id x) {
    auto details = reply(x).header.object("error").value().object("details").value();
    if (auto flag = details.flag("started"))
      return *flag ? "true" : "false";
    return details.text("started").value_or("?");
  }

  std::vector<std::string> events_of(ticket_id x) const {
    std::vector<std::string> result;
    for (auto& [ticket, m] : events)
      if (ticket == x)
        result.push_back(m.header.text("event").value_or("?"));
    return result;
  }
};

/// A checked request, as the bridge submits it.
inline request_ptr make_request(fields header, std::vector<part> parts = {}) {
  header.set("id", "r").set("thread", "t");
  auto r = check_request(message{std::move(header), std::move(parts)});
  REQUIRE_MESSAGE(r, (r ? "" : r.error().message));
  return std::make_shared<const request>(std::move(*r));
}

inline request_ptr exec_request(fields more = {}) {
  return make_request(more.set("op", "exec"), {{"command", blob::copy_of("true")}});
}

inline request_ptr result_request(const std::string& key) {
  return make_request(fields{}.set("op", "result").set("key", key));
}

inline request_ptr file_request(fields more = {}) {
  return make_request(more.set("op", "read_file").set("path", "f"));
}

} // namespace corral::test
