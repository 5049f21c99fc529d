// Provider, real sandbox actors and fake guests under a scheduler that a seed shuffles. A failing
// seed is printed and plays again; CORRAL_SEED=n runs that one alone.

#include "actors/provider.hpp"
#include "actors/sandbox.hpp"
#include "tests/support/fake_guest.hpp"

#include <cstdlib>
#include <set>
#include <sstream>

using namespace corral;
using namespace corral::test;
using namespace std::chrono_literals;

namespace {

constexpr uint64_t seeds = 400;
constexpr int steps = 120;
constexpr int threads = 6;
constexpr int clients = 3;

/// What must hold whatever happens; a breach is kept and fails the test with its seed.
class world : public virtual_system {
public:
  explicit world(uint64_t seed) : rng_{seed} {
    settings_.replicas = 3;
    settings_.max_sandboxes = 5;
    settings_.idle_timeout = 20s;
    settings_.lease_idle_timeout = 60s;
    settings_.crew.workers = 2;
    settings_.overflow = rng_() % 2 ? when_full::burst : when_full::reject;
    start();
  }

  /// Does `steps` random things, then lets everything end.
  void run() {
    for (int i = 0; i < steps; ++i) {
      act();
      for (auto n = rng_() % 12; n > 0; --n)
        step(rng_);
      check();
    }
    finish();
  }

  std::string breaches() const { return breaches_; }
  std::string trace() const { return trace_.str(); }

private:
  /// An environment, from its making to its end.
  struct environment {
    std::string id;
    fake_guest guest;
    sandbox_actor box;
    bool destroyed = false;
    std::set<ticket_id> working; // What the guest has and has not answered.
  };
  struct request_state {
    std::string id; // Of the sandbox it was sent to.
    sandbox_actor box;
    int answers = 0;
    int retirements = 0;
  };
  struct held_lease {
    std::string client, sandbox, lease;
  };

  void start() {
    provider_parts parts;
    parts.make_worker = [this] {
      return spawn([this](backend_worker_actor::pointer self) { return work(self); });
    };
    parts.make_sandbox = [this](const endpoint_ptr& where, const provider_actor& owner) {
      return make_sandbox(where->id, owner);
    };
    parts.observe = [this](std::string_view event, const fields& about) {
      note(event, about.text("thread").value_or("-"));
      if (event == "evicted" || event == "reaped")
        taken_away(*about.text("sandbox"));
    };
    sink_ = spawn([this](answer_sink::pointer) -> answer_sink::behavior_type {
      return {
          [this](answer_atom, ticket_id x, const message_ptr& m) {
            ++requests_[x].answers;
            note("answer", std::to_string(x) + (m->header.flag("ok") == true ? "" : "!"));
          },
          [](data_atom, ticket_id, const message_ptr&) {},
          [this](retired_atom, ticket_id x) { ++requests_[x].retirements; },
      };
    });
    pool_ = spawn(provider, settings_, parts);
  }

  backend_worker_actor::behavior_type work(backend_worker_actor::pointer) {
    return {
        [this](create_atom, const sandbox_spec& x) -> caf::result<endpoint_ptr, bool> {
          if (alive_.contains(x.id))
            breach("two environments of " + x.id);
          if (rng_() % 8 == 0)
            return to_caf({errc::sandbox_runtime, "bad luck", {}});
          alive_.insert(x.id);
          auto e = std::make_shared<endpoint>();
          e->id = x.id;
          e->who = x.who;
          return {endpoint_ptr{std::move(e)}, rng_() % 4 == 0};
        },
        [this](destroy_atom, const std::string& id, bool) -> caf::result<caf::ok_atom> {
          if (rng_() % 8 == 0 && ++bad_luck_[id] < 4) // At the fifth failure a provider gives up.
            return to_caf({errc::sandbox_runtime, "bad luck", {}});
          bad_luck_.erase(id);
          alive_.erase(id);
          for (auto& e : environments_)
            if (e->id == id && !e->destroyed) {
              e->destroyed = true;
              e->guest.die();
            }
          return caf::ok_atom::value;
        },
    };
  }

  sandbox_actor make_sandbox(const std::string& id, const provider_actor& owner) {
    environments_.push_back(std::make_unique<environment>());
    auto& e = *environments_.back();
    e.id = id;
    e.guest.on_message = [this, &e](const message& x) { guest_got(e, x); };
    link_factory link = [this, &e](sandbox_actor to) { return e.guest.make(*this, to); };
    ready_callback ready = [owner, id](int64_t session) {
      caf::anon_send(owner, up_atom::value, id, session);
    };
    e.box = spawn(sandbox, sandbox_settings{id, {}, {}, 5s, 2s}, link, ready);
    newest_[id] = &e;
    starting_.push_back(&e);
    return e.box;
  }

  /// Pings are mostly answered at once; execs when `act` says so.
  void guest_got(environment& e, const message& x) {
    auto re = static_cast<ticket_id>(*x.header.integer("re"));
    auto op = x.header.text("op");
    if (op == "ping" && rng_() % 8)
      e.guest.reply(re);
    if (op == "exec")
      e.working.insert(re);
    if (op == "cancel" && e.working.erase(re))
      e.guest.reply(re, fields{}.set("cancelled", true));
  }

  void taken_away(const std::string& id) {
    if (!newest_.at(id)->working.empty())
      breach("a sandbox at work was taken away: " + id);
  }

  // -- what happens
  // ---------------------------------------------------------------------------------

  void act() {
    auto thread = "t" + std::to_string(rng_() % threads);
    auto client = "c" + std::to_string(rng_() % clients);
    auto id = sandbox_id_of({"default", thread});
    switch (rng_() % 14) {
    case 0:
    case 1:
    case 2:
      return acquire(thread, client);
    case 3:
    case 4:
      return exec(id);
    case 5:
    case 6:
      return guests_answer();
    case 7:
      return release();
    case 8:
      caf::anon_send(pool_, reap_atom::value);
      return;
    case 9:
      others_.push_back(
          ask_later<fields_ptr>(pool_, destroy_atom::value, id, client, rng_() % 2 == 0, false));
      return;
    case 10:
      return hellos();
    case 11:
      return kill_one();
    case 12:
      if (rng_() % 4 == 0)
        others_.push_back(ask_later<fields_ptr>(pool_, release_atom::value, client));
      return;
    default:
      run_for(std::chrono::milliseconds{rng_() % 4000}, rng_);
    }
  }

  void acquire(const std::string& thread, const std::string& client) {
    note("acquire", thread);
    acquires_.push_back(
        {client, ask_later<grant>(pool_, acquire_atom::value,
                                  acquire_order{{"default", thread}, client, rng_() % 3 != 0})});
  }

  /// To a sandbox that was granted once: it may have been taken away since.
  void exec(const std::string& id) {
    for (auto& [client, x] : acquires_)
      if (x->succeeded() && x->value().id == id) {
        auto ticket = ++last_ticket_;
        requests_[ticket] = {id, x->value().sandbox};
        caf::anon_send(x->value().sandbox, submit_atom::value,
                       submission{ticket, client, exec_request()}, sink_);
        if (rng_() % 4 == 0) {
          auto cancel = ++last_ticket_;
          requests_[cancel] = {id, x->value().sandbox};
          caf::anon_send(x->value().sandbox, cancel_atom::value, cancel, ticket, sink_);
        }
        return;
      }
  }

  void guests_answer() {
    for (auto& e : environments_)
      if (!e->working.empty() && rng_() % 2) {
        e->guest.reply(*e->working.begin());
        e->working.erase(e->working.begin());
      }
  }

  void hellos() {
    for (auto e : std::exchange(starting_, {}))
      if (rng_() % 6)
        e->guest.say_hello();
  }

  void kill_one() {
    if (environments_.empty() || rng_() % 3)
      return;
    auto& e = *environments_[rng_() % environments_.size()];
    e.working.clear();
    e.guest.die();
  }

  void release() {
    for (auto& [client, x] : acquires_)
      if (x->succeeded() && !x->value().lease.empty() && rng_() % 4 == 0) {
        others_.push_back(ask_later<fields_ptr>(pool_, release_atom::value, client, x->value().id,
                                                x->value().lease));
        return;
      }
  }

  // -- what must hold
  // -------------------------------------------------------------------------------

  void check() {
    for (auto& [client, x] : acquires_) {
      if (x->answers() > 1)
        breach("an acquire was answered twice");
      if (x->succeeded() && !x->value().sandbox)
        breach("a grant without a sandbox");
    }
    for (auto& [ticket, x] : requests_)
      if (x.answers + x.retirements > 1)
        breach("request " + std::to_string(ticket) + " was answered twice");
  }

  /// Everyone goes; what is left then is wrong.
  void finish() {
    // Long enough for every start, backstop, destroy and idle time; guests answer what they have.
    for (int i = 0; i < 40; ++i) {
      for (auto& e : environments_) {
        for (auto re : std::exchange(e->working, {}))
          e->guest.reply(re);
      }
      hellos();
      run_for(20s, rng_);
    }
    check();
    for (auto& [client, x] : acquires_)
      if (!x->answered())
        breach("an acquire was never answered");
    for (auto& x : others_)
      if (x->answers() != 1)
        breach("a release or destroy has " + std::to_string(x->answers()) + " answers");
    for (auto& [ticket, x] : requests_)
      if (x.answers + x.retirements == 0 && !down(x.box)) // Else the bridge answers it.
        breach("request " + std::to_string(ticket) + " was never answered");
    compare_tables();
    for (int c = 0; c < clients; ++c)
      ask_later<fields_ptr>(pool_, release_atom::value, "c" + std::to_string(c));
    settle(rng_);
    for (int i = 0; i < 20; ++i) {
      caf::anon_send(pool_, reap_atom::value);
      run_for(30s, rng_);
    }
    if (!alive_.empty())
      breach("environments are left: " + std::to_string(alive_.size()));
    if (stats("leases") != 0 || stats("sandboxes") != 0)
      breach("leases or sandboxes are left");
  }

  void compare_tables() {
    auto rows = ask_later<std::vector<fields>>(pool_, list_atom::value, std::string{},
                                               std::string{}, std::string{});
    settle(rng_);
    std::set<std::string> listed;
    int64_t leases = 0;
    for (auto& x : rows->value()) {
      auto id = *x.text("sandbox");
      listed.insert(id);
      leases += x.integer("leases").value_or(0);
      if (x.text("state") != "ending" && down(newest_.at(id)->box))
        breach("the table holds an ended sandbox: " + id);
    }
    if (leases != stats("leases"))
      breach("a lease on a sandbox that has ended");
    for (auto& id : listed)
      if (!alive_.contains(id))
        breach("the table holds what does not exist: " + id);
  }

  int64_t stats(std::string_view name) {
    auto x = ask_later<std::vector<fields>>(pool_, stats_atom::value);
    settle(rng_);
    return x->value().at(0).integer(name).value_or(-1);
  }

  static bool down(const sandbox_actor& x) {
    return caf::actor_cast<caf::abstract_actor*>(x)->getf(caf::abstract_actor::is_terminated_flag);
  }

  void note(std::string_view what, const std::string& about) {
    trace_ << (now().time_since_epoch() / 1ms) << " " << what << " " << about << "\n";
  }
  void breach(const std::string& what) {
    note("BREACH", what);
    breaches_ += what + "; ";
  }

  std::mt19937_64 rng_;
  provider_settings settings_;
  provider_actor pool_;
  answer_sink sink_;
  std::set<std::string> alive_; // By the backend.
  std::map<std::string, int> bad_luck_;
  std::vector<std::unique_ptr<environment>> environments_;
  std::map<std::string, environment*> newest_;
  std::vector<environment*> starting_;
  std::vector<std::pair<std::string, later_ptr<grant>>> acquires_;
  std::vector<later_ptr<fields_ptr>> others_;
  std::map<ticket_id, request_state> requests_;
  ticket_id last_ticket_ = 0;
  std::ostringstream trace_;
  std::string breaches_;
};

} // namespace

TEST_CASE("no order of events loses an answer, shares a sandbox or takes one that works") {
  auto chosen = std::getenv("CORRAL_SEED");
  auto first = chosen ? std::strtoull(chosen, nullptr, 10) : 1;
  auto last = chosen ? first : seeds;
  for (auto seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    world w{seed};
    w.run();
    REQUIRE_MESSAGE(w.breaches().empty(),
                    w.breaches() << "\n"
                                 << (chosen ? w.trace() : "CORRAL_SEED shows its trace"));
  }
}

TEST_CASE("a seed plays the same again") {
  auto trace = [](uint64_t seed) {
    world w{seed};
    w.run();
    return w.trace();
  };
  for (uint64_t seed : {3, 17, 42}) {
    auto once = trace(seed);
    CHECK(once.size() > 500);
    CHECK(trace(seed) == once);
  }
  CHECK(trace(3) != trace(17));
}
