#include "actors/sandbox.hpp"

#include "tests/support/fake_guest.hpp"

using namespace corral;
using namespace corral::test;
using namespace std::chrono_literals;

namespace {

using tickets = std::vector<ticket_id>;

struct fixture : virtual_system {
  fake_guest guest;
  fake_bridge bridge{*this};
  std::vector<int64_t> ready;
  std::optional<memory_counters> memory;
  sandbox_actor box = make();

  sandbox_actor make() {
    sandbox_settings settings;
    settings.id = "box";
    settings.queue = {.waiting = 3, .parallel = 2};
    settings.defaults = {.exec_timeout_ms = 60'000, .file_timeout_ms = 10'000};
    settings.memory = [this] { return memory; };
    link_factory link = [this](sandbox_actor owner) { return guest.make(*this, owner); };
    ready_callback tell = [this](int64_t session) { ready.push_back(session); };
    auto x = spawn(sandbox, settings, link, tell);
    settle();
    guest.say_hello(7);
    settle();
    return x;
  }

  void submit(ticket_id ticket, request_ptr what, std::string client = "ann") {
    tell(box, submit_atom::value, submission{ticket, std::move(client), std::move(what)},
         bridge.sink);
    settle();
  }
  void exec(ticket_id ticket, fields more = {}) { submit(ticket, exec_request(std::move(more))); }
  void reply(ticket_id ticket, const fields& x = {}) {
    guest.reply(ticket, x);
    settle();
  }
  void started(ticket_id ticket) {
    guest.started(ticket);
    settle();
  }
  void cancel(ticket_id ticket, ticket_id target) {
    tell(box, cancel_atom::value, ticket, target, bridge.sink);
    settle();
  }
  void input(ticket_id ticket, ticket_id target, std::string bytes = "x") {
    message x;
    x.header.set("request", "r").set("eof", true);
    x.add_part("", blob::take(std::move(bytes)));
    tell(box, send_atom::value, ticket, target,
         message_ptr{std::make_shared<message>(std::move(x))}, bridge.sink);
    settle();
  }
  retirement retire(time_point unused_since) {
    return ask<retirement>(box, retire_atom::value, unused_since)->value();
  }
  sandbox_usage usage() { return ask<sandbox_usage>(box, inspect_atom::value)->value(); }
  bool alive() {
    return !caf::actor_cast<caf::abstract_actor*>(box)->getf(
        caf::abstract_actor::is_terminated_flag);
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "a guest's first hello makes the sandbox ready, a later one does not") {
  guest.say_hello(8);
  settle();
  CHECK(ready == std::vector<int64_t>{7});
  CHECK(usage().session == 8);
}

TEST_CASE_FIXTURE(fixture, "an exec goes to the guest and its reply to whoever asked") {
  exec(1);
  REQUIRE(guest.got("exec") == tickets{1});
  CHECK(guest.sent[0].part_of("command").view() == "true");
  CHECK(guest.sent[0].header.integer("timeout_ms") == 60'000);
  reply(1, fields{}.set("exit_code", 3).set("session", 9));
  CHECK(bridge.reply(1).header.integer("exit_code") == 3);
  CHECK(bridge.reply(1).header.integer("queued_ms") == 0);
  CHECK(usage().session == 9);
  CHECK(usage().execs == 1);
}

TEST_CASE_FIXTURE(fixture, "an exec waits for the one before it and says how long") {
  exec(1);
  exec(2);
  CHECK(guest.got("exec") == tickets{1});
  CHECK(usage().waiting == 1);
  run_for(1500ms);
  reply(1);
  CHECK(guest.got("exec") == tickets{1, 2});
  reply(2);
  CHECK(bridge.reply(2).header.integer("queued_ms") == 1500);
}

TEST_CASE_FIXTURE(fixture, "a file operation passes a running exec") {
  exec(1);
  submit(2, file_request());
  CHECK(guest.got("read_file") == tickets{2});
  reply(2);
  CHECK(bridge.answered(2));
  CHECK_FALSE(bridge.answered(1));
}

TEST_CASE_FIXTURE(fixture,
                  "beyond the queue's limit a request is refused and others are not hurt") {
  for (ticket_id i = 1; i <= 5; ++i)
    exec(i);
  CHECK(bridge.code(5) == "queue_full");
  CHECK(bridge.reply(5).header.object("error")->flag("retryable") == true);
  for (ticket_id i = 1; i <= 4; ++i)
    reply(i);
  for (ticket_id i = 1; i <= 4; ++i)
    CHECK(bridge.code(i) == "");
}

TEST_CASE_FIXTURE(fixture, "an exec is told that it started, and a streaming one that it waits") {
  exec(1, fields{}.set("stream", true));
  exec(2, fields{}.set("stream", true));
  exec(3);
  CHECK(bridge.events_of(1).empty()); // It did not wait.
  CHECK(bridge.events_of(2) == std::vector<std::string>{"queued"});
  CHECK(bridge.events_of(3).empty());
  started(1);
  CHECK(bridge.events_of(1) == std::vector<std::string>{"started"});
  reply(1);
  reply(2);
  started(3);
  CHECK(bridge.events_of(3) == std::vector<std::string>{"started"}); // The bridge publishes it.
}

TEST_CASE_FIXTURE(fixture, "chunks go to the client, and its acknowledgements to the guest") {
  exec(1, fields{}.set("stream", true));
  message chunk;
  chunk.header.set("event", "chunk").set("seq", 0);
  chunk.add_part("", blob::copy_of("abc"));
  guest.say(1, chunk);
  settle();
  REQUIRE(bridge.events.size() == 1);
  CHECK(bridge.events[0].second.part_of("").view() == "abc");
  tell(box, credit_atom::value, ticket_id{1}, uint64_t{0}, int64_t{0});
  settle();
  CHECK(guest.got("ack") == tickets{1});
  CHECK(guest.sent.back().header.integer("seq") == 0);
}

TEST_CASE_FIXTURE(fixture, "what the client took of a long reply is credited to the guest") {
  submit(1, file_request());
  tell(box, credit_atom::value, ticket_id{1}, uint64_t{500}, int64_t{-1});
  tell(box, credit_atom::value, ticket_id{2}, uint64_t{500}, int64_t{-1}); // Not its request.
  settle();
  CHECK(guest.credits == std::map<ticket_id, uint64_t>{{1, 500}});
}

TEST_CASE_FIXTURE(fixture, "pieces of an upload go to the guest while its request is there") {
  submit(1, make_request(fields{}.set("op", "write_file").set("path", "f").set("size", 6)));
  for (ticket_id i : {1, 2})
    tell(box, data_atom::value, i, blob::copy_of("abc"), false);
  settle();
  CHECK(guest.data == std::vector<std::pair<ticket_id, std::string>>{{1, "abc"}});
}

TEST_CASE_FIXTURE(fixture, "queue_ms bounds the wait to the instant, not the work") {
  exec(1, fields{}.set("queue_ms", 100));
  exec(2, fields{}.set("queue_ms", 1000));
  run_for(1s - 1ns);
  CHECK_FALSE(bridge.answered(2));
  run_for(1ns);
  CHECK(bridge.code(2) == "busy");
  CHECK_FALSE(bridge.answered(1));
  reply(1);
  CHECK(guest.got("exec") == tickets{1}); // The second never started.
}

TEST_CASE_FIXTURE(fixture, "with queue_ms 0 an exec starts at once or not at all") {
  exec(1, fields{}.set("queue_ms", 0));
  exec(2, fields{}.set("queue_ms", 0));
  run_for(1ns);
  CHECK(bridge.code(2) == "busy");
  CHECK_FALSE(bridge.answered(1));
}

TEST_CASE_FIXTURE(fixture, "a guest that overruns a deadline by the backstop is given up") {
  exec(1, fields{}.set("timeout_ms", 1000));
  started(1);
  run_for(6s - 1ns);
  CHECK_FALSE(bridge.answered(1));
  CHECK(alive());
  run_for(1ns);
  CHECK(bridge.code(1) == "sandbox_lost");
  CHECK_FALSE(alive());
}

TEST_CASE_FIXTURE(fixture, "the backstop of an exec counts from its start, not from its arrival") {
  exec(1, fields{}.set("timeout_ms", 10'000));
  exec(2, fields{}.set("timeout_ms", 1000));
  run_for(9s);
  reply(1);
  run_for(6s - 1ns);
  CHECK_FALSE(bridge.answered(2));
  run_for(1ns);
  CHECK(bridge.code(2) == "sandbox_lost");
}

TEST_CASE_FIXTURE(fixture, "an answer in time takes its backstop along") {
  exec(1, fields{}.set("timeout_ms", 1000));
  reply(1);
  run_for(1h);
  CHECK(alive());
}

TEST_CASE_FIXTURE(fixture, "thousands of execs leave one timer") {
  for (ticket_id i = 1; i <= 1000; ++i) {
    exec(i);
    reply(i);
    run_for(1ms);
  }
  CHECK(timers() == 1);
  run_for(2min);
  CHECK(timers() == 0);
}

TEST_CASE_FIXTURE(fixture, "an exec that waits is cancelled at once and never reaches the guest") {
  exec(1);
  exec(2);
  run_for(30ms);
  cancel(10, 2);
  CHECK(bridge.reply(2).header.flag("cancelled") == true);
  CHECK(bridge.reply(2).header.integer("queued_ms") == 30);
  CHECK(bridge.reply(10).header.flag("cancelled") == true);
  reply(1);
  CHECK(guest.got("exec") == tickets{1});
  CHECK(guest.got("cancel").empty());
}

TEST_CASE_FIXTURE(fixture, "a cancel of a running exec is answered with it and as it says") {
  exec(1);
  cancel(10, 1);
  cancel(11, 1);
  CHECK(guest.got("cancel") == tickets{1, 1});
  CHECK_FALSE(bridge.answered(10));
  bool said = false;
  SUBCASE("it was cancelled") {
    said = true;
  }
  SUBCASE("it ended before the cancel reached it") {
    said = false;
  }
  reply(1, fields{}.set("cancelled", said));
  CHECK(bridge.reply(1).header.flag("cancelled") == said);
  CHECK(bridge.reply(10).header.flag("cancelled") == said);
  CHECK(bridge.reply(11).header.flag("cancelled") == said);
}

TEST_CASE_FIXTURE(fixture, "a cancel of an exec that fails says that it was not cancelled") {
  exec(1);
  cancel(10, 1);
  guest.say(1, make_reply(error{errc::command_blocked, "no", {}}));
  settle();
  CHECK(bridge.code(1) == "command_blocked");
  CHECK(bridge.reply(10).header.flag("cancelled") == false);
}

TEST_CASE_FIXTURE(fixture, "a cancel of what is finished, unknown or no exec changes nothing") {
  exec(1);
  reply(1);
  submit(2, file_request());
  for (ticket_id target : {0, 1, 2, 99})
    cancel(100 + target, target);
  for (ticket_id target : {0, 1, 2, 99})
    CHECK(bridge.reply(100 + target).header.flag("cancelled") == false);
  CHECK(guest.got("cancel").empty());
}

TEST_CASE_FIXTURE(fixture, "a cancel of the sandbox means its running exec") {
  exec(1);
  exec(2);
  cancel(10, 0);
  CHECK(guest.got("cancel") == tickets{1});
  reply(1, fields{}.set("cancelled", true));
  CHECK(bridge.reply(10).header.flag("cancelled") == true);
  CHECK_FALSE(bridge.answered(2));
}

TEST_CASE_FIXTURE(fixture,
                  "the bridge's own cancel reaches file operations too, without an answer") {
  submit(1, file_request());
  cancel(0, 1);
  CHECK(guest.got("cancel") == tickets{1});
  CHECK_FALSE(bridge.answered(0));
}

TEST_CASE_FIXTURE(fixture, "input goes to a running exec and is answered by the guest") {
  exec(1);
  input(5, 1, "abc");
  REQUIRE(guest.got("input") == tickets{5});
  auto& sent = guest.sent.back();
  CHECK(sent.header.integer("target") == 1);
  CHECK(sent.header.flag("eof") == true);
  CHECK_FALSE(sent.header.has("request"));
  CHECK(sent.part_of("stdin").view() == "abc");
  reply(5, fields{}.set("bytes", 3));
  CHECK(bridge.reply(5).header.integer("bytes") == 3);
  reply(5);
  CHECK(bridge.answers[5].size() == 1);
}

TEST_CASE_FIXTURE(fixture, "input for an exec that waits, has ended or is none is refused") {
  exec(1);
  exec(2);
  submit(3, file_request(), "bob");
  input(10, 2);
  input(11, 3);
  input(12, 99);
  reply(1);
  input(13, 1);
  for (ticket_id i : {10, 11, 12, 13})
    CHECK(bridge.code(i) == "invalid_request");
  CHECK(guest.got("input").empty());
}

TEST_CASE_FIXTURE(fixture, "a guest can answer only what it was asked, and once") {
  exec(1);
  exec(2);
  reply(2); // It waits: the guest can't know it.
  reply(99);
  CHECK(bridge.answers.empty());
  reply(1);
  reply(1);
  CHECK(bridge.answers[1].size() == 1);
  CHECK_FALSE(bridge.answered(2));
}

TEST_CASE_FIXTURE(fixture, "a sandbox in use does not retire") {
  exec(1);
  exec(2);
  auto answer = retire(now());
  CHECK_FALSE(answer.retired);
  CHECK(answer.in_use);
  CHECK(answer.used_at == now());
}

TEST_CASE_FIXTURE(fixture, "a sandbox that was used since does not retire and says when that was") {
  run_for(10s);
  exec(1);
  reply(1);
  auto used = now();
  run_for(10s);
  auto answer = retire(used - 1ns);
  CHECK_FALSE(answer.retired);
  CHECK_FALSE(answer.in_use);
  CHECK(answer.used_at == used);
  CHECK(retire(used).retired);
}

TEST_CASE_FIXTURE(fixture, "pings and inspection are no use") {
  auto start = now();
  run_for(10s);
  auto ping = ask<bool>(box, probe_atom::value);
  reply(guest.got("ping").at(0));
  CHECK(ping->value());
  CHECK(usage().used_at == start);
  CHECK(retire(start).retired);
}

TEST_CASE_FIXTURE(fixture, "whatever comes after retirement goes back, until the end") {
  REQUIRE(retire(now()).retired);
  exec(1);
  submit(2, file_request());
  CHECK(bridge.retired == tickets{1, 2});
  CHECK(guest.sent.empty());
  guest.die();
  settle();
  exec(3);
  CHECK(bridge.retired == tickets{1, 2, 3});
  CHECK(bridge.answers.empty());
  CHECK(alive());
}

TEST_CASE_FIXTURE(fixture,
                  "when its guest dies everyone is answered once, and told what had begun") {
  exec(1);
  started(1);
  exec(2);
  submit(3, file_request(), "bob");
  input(4, 1);
  cancel(5, 1);
  auto ping = ask<bool>(box, probe_atom::value);
  guest.die();
  settle();
  CHECK(bridge.started(1) == "true");
  CHECK(bridge.started(2) == "false");
  CHECK(bridge.started(3) == "unknown");
  CHECK(bridge.started(4) == "unknown");
  CHECK(bridge.reply(5).header.flag("cancelled") == false);
  CHECK(bridge.reply(2).header.object("error")->flag("retryable") == true);
  CHECK(bridge.reply(3).header.object("error")->flag("retryable") == false);
  CHECK(ping->value() == false);
  CHECK_FALSE(alive());
}

TEST_CASE_FIXTURE(fixture, "a killed sandbox answers everyone and takes its link along") {
  exec(1);
  tell(box, kill_atom::value);
  settle();
  CHECK(bridge.code(1) == "sandbox_lost");
  CHECK_FALSE(alive());
  CHECK(caf::actor_cast<caf::abstract_actor*>(guest.link)
            ->getf(caf::abstract_actor::is_terminated_flag));
}

TEST_CASE_FIXTURE(fixture, "a draining sandbox turns the waiting away and lets the running end") {
  exec(1);
  exec(2);
  tell(box, drain_atom::value);
  settle();
  CHECK(bridge.code(2) == "shutting_down");
  exec(3);
  CHECK(bridge.code(3) == "shutting_down");
  CHECK_FALSE(bridge.answered(1));
  cancel(10, 1);
  reply(1, fields{}.set("cancelled", true));
  CHECK(bridge.code(1) == "");
  CHECK(bridge.reply(10).header.flag("cancelled") == true);
  CHECK(retire(now()).retired);
}

TEST_CASE_FIXTURE(fixture, "a guest has two seconds to answer a ping, and its silence is no end") {
  auto first = ask<bool>(box, probe_atom::value);
  run_for(1s);
  auto second = ask<bool>(box, probe_atom::value);
  run_for(1s - 1ns);
  CHECK_FALSE(first->answered());
  run_for(1ns);
  CHECK(first->value() == false);
  reply(guest.got("ping").at(1));
  CHECK(second->value() == true);
  run_for(1h);
  CHECK(second->answers() == 1);
  CHECK(alive());
}

TEST_CASE_FIXTURE(fixture, "a ping's number is no request's, however a guest answers") {
  auto ping = ask<bool>(box, probe_atom::value);
  exec(1);
  reply(1);
  CHECK_FALSE(ping->answered());
  CHECK(guest.got("ping").at(0) > (ticket_id{1} << 61));
}

TEST_CASE_FIXTURE(fixture, "usage tells what runs and what waits") {
  exec(1);
  exec(2);
  submit(3, file_request(), "bob");
  run_for(5s);
  auto u = usage();
  CHECK(u.running);
  CHECK(u.waiting == 1);
  CHECK(u.active == 2);
  CHECK(u.execs == 0);
  CHECK(u.used_at == now());
  CHECK(u.session == 7);
}

TEST_CASE_FIXTURE(fixture,
                  "an exec that failed tells what the memory limit killed since the last one") {
  auto oom_of = [&](ticket_id ticket, int exit_code) {
    exec(ticket);
    reply(ticket, fields{}.set("exit_code", exit_code));
    return bridge.reply(ticket).header.object("oom");
  };
  CHECK_FALSE(oom_of(1, 137)); // There is no limit.
  memory = memory_counters{2, 1000, 900};
  CHECK_FALSE(oom_of(2, 0));
  CHECK(oom_of(3, 137) == fields{}.set("kills", 2).set("limit", 1000).set("peak", 900));
  CHECK_FALSE(oom_of(4, 1));
  memory->kills = 5;
  CHECK(oom_of(5, 137)->integer("kills") == 3);
}

// -- taken over from an earlier daemon --

namespace {

struct taken_over : fixture {
  taken_over() {
    // As make() does, but for what the guest says.
    sandbox_settings settings;
    settings.id = "box";
    settings.queue = {.waiting = 3, .parallel = 2};
    guest.sent.clear();
    ready.clear();
    link_factory link = [this](sandbox_actor owner) { return guest.make(*this, owner); };
    ready_callback tell = [this](int64_t session) { ready.push_back(session); };
    box = spawn(sandbox, settings, link, tell);
    settle();
    guest.say_hello(
        7, fields{}.set("running", true).set("running_key", "k").set("running_ms_left", 4000));
    settle();
  }
  ticket_id attached() { return guest.got("attach").at(0); }
};

} // namespace

TEST_CASE_FIXTURE(taken_over,
                  "an exec that an earlier daemon started holds the session until it ends") {
  CHECK(ready.size() == 1);
  CHECK(usage().running);
  exec(1);
  CHECK(guest.got("exec").empty());
  CHECK(retire(time_point::max()).in_use);
  reply(attached(), fields{}.set("exit_code", 0));
  CHECK(guest.got("exec") == tickets{1});
}

TEST_CASE_FIXTURE(taken_over, "who sends the key of the running exec joins it, others wait") {
  submit(1, exec_request(fields{}.set("key", "other")), "bob");
  exec(2, fields{}.set("key", "k"));
  CHECK(guest.got("exec") == tickets{2});
  reply(2, fields{}.set("exit_code", 0));
  CHECK(bridge.answered(2));
  CHECK(guest.got("exec") == tickets{2}); // It was not its own exec that ended.
  reply(attached());
  CHECK(guest.got("exec") == tickets{2, 1});
}

TEST_CASE_FIXTURE(taken_over, "an exec that an earlier daemon started can be cancelled") {
  cancel(5, 0);
  CHECK(guest.got("cancel") == tickets{attached()});
  reply(attached(), fields{}.set("cancelled", true));
  CHECK(bridge.reply(5).header.flag("cancelled") == true);
}

TEST_CASE_FIXTURE(taken_over, "a later hello of the same guest starts nothing anew") {
  guest.say_hello(7, fields{}.set("running", true));
  settle();
  CHECK(guest.got("attach").size() == 1);
}

TEST_CASE_FIXTURE(taken_over, "a guest that is silent past the end of what it ran is given up") {
  exec(1);
  run_for(4s + 5s); // What is left of the time, and the backstop.
  CHECK(bridge.code(1) == "sandbox_lost");
  CHECK_FALSE(alive());
}

TEST_CASE_FIXTURE(fixture, "who joins a running exec has its time, not one of its own") {
  exec(1, fields{}.set("key", "k"));
  submit(2, exec_request(fields{}.set("key", "k").set("timeout_ms", 1000)), "bob");
  CHECK(guest.got("exec") == tickets{1, 2});
  run_for(30s);
  CHECK(alive());
  CHECK_FALSE(bridge.answered(2));
  run_for(35s);
  CHECK(bridge.code(2) == "sandbox_lost");
}

// -- results --

TEST_CASE_FIXTURE(fixture, "a result is asked of the guest past what runs and what waits") {
  exec(1);
  exec(2, fields{}.set("key", "waits"));
  auto used = retire(time_point{}).used_at;
  run_for(1s);
  submit(3, result_request("k"));
  CHECK(guest.got("result") == tickets{3});
  reply(3, fields{}.set("state", "finished"));
  CHECK(bridge.reply(3).header.text("state") == "finished");
  submit(4, result_request("waits"));
  CHECK(bridge.reply(4).header.text("state") == "running");
  CHECK(guest.got("result") == tickets{3});
  reply(1);
  reply(2);
  run_for(1s);
  used = retire(time_point{}).used_at;
  submit(5, result_request("k"));
  reply(5);
  CHECK(retire(time_point{}).used_at == used); // Asking is no use of a sandbox.
}

// -- left to a later daemon --

TEST_CASE_FIXTURE(fixture, "a sandbox that is left answers everyone and hurts no guest") {
  exec(1);
  exec(2);
  cancel(3, 1);
  input(4, 1);
  tell(box, leave_atom::value);
  settle();
  CHECK(bridge.code(1) == "shutting_down");
  CHECK(bridge.started(1) == "true");
  CHECK(bridge.reply(1).header.object("error")->flag("retryable") == false);
  CHECK(bridge.started(2) == "false");
  CHECK(bridge.reply(2).header.object("error")->flag("retryable") == true);
  CHECK(bridge.reply(3).header.flag("cancelled") == false);
  CHECK(bridge.code(4) == "shutting_down");
  CHECK_FALSE(alive());
  CHECK(guest.got("exit").empty());
}

// -- a machine that was stopped --

TEST_CASE_FIXTURE(fixture, "a guest is given its time anew when this process was stopped") {
  exec(1);
  auto answers = ask<bool>(box, probe_atom::value);
  stand_still(1h);
  run_for(1s);
  CHECK(alive());
  CHECK_FALSE(answers->answered());
  guest.reply(guest.got("ping").at(0));
  reply(1, fields{}.set("exit_code", 0));
  CHECK(bridge.reply(1).header.integer("exit_code") == 0);
  CHECK(answers->value());
}

TEST_CASE_FIXTURE(fixture, "a guest that stays silent after that is given up in the end") {
  exec(1);
  stand_still(1h);
  run_for(10s);
  CHECK_FALSE(alive());
  CHECK(bridge.code(1) == "sandbox_lost");
}
