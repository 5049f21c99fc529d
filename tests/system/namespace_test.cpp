// The life of namespace sandboxes: made, used, killed, left behind, removed.

#include "messages/wire/errc.hpp"
#include "os/files.hpp"
#include "providers/namespace/record_store.hpp"
#include "tests/support/namespace_pool.hpp"
#include "tests/support/traces.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

using namespace corral;
using namespace corral::test;

namespace fs = std::filesystem;

namespace {

endpoint create(namespace_backend& backend, const sandbox_spec& spec) {
  auto made = backend.create(spec);
  REQUIRE_MESSAGE(made, (made ? std::string{} : made.error().message));
  return *made;
}

/// A daemon that makes a sandbox and is gone, as after kill -9.
void leave_behind(const namespace_pool& pool, const sandbox_spec& spec) {
  auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    auto backend = pool.open();
    auto made = backend->create(spec);
    ::_exit(made ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
}

} // namespace

TEST_CASE("a sandbox runs commands in its workspace until it is destroyed") {
  namespace_pool pool;
  auto backend = pool.open();
  auto made = create(*backend, spec_of("t1"));
  CHECK(made.who == owner{this_user(), "t1"});
  CHECK(made.secret.size() == 32);
  CHECK(backend->healthy(made.id));
  {
    guest_driver guest{made};
    CHECK(guest.run("pwd").output == "/mnt/user-data/workspace\n");
    CHECK(guest.run("echo kept > file; exit 3").status == 3);
    CHECK(guest.run("cat file").output == "kept\n");
  }
  CHECK(backend->list().empty());
  REQUIRE(backend->destroy(made.id, false));
  CHECK_FALSE(backend->healthy(made.id));
  CHECK(traces_of(pool, made.id).empty());
  CHECK(backend->destroy(made.id, false));
}

TEST_CASE("an owner's files stay when its sandbox goes, until they are purged") {
  namespace_pool pool;
  auto backend = pool.open();
  auto spec = spec_of("t1", this_user() + "-alice");
  auto workspace =
      pool.path() / "data/users" / (this_user() + "-alice") / "threads/t1/user-data/workspace";
  guest_driver{create(*backend, spec)}.run("echo mine > file");
  REQUIRE(backend->destroy(spec.id, false));
  CHECK(read_small_file(workspace / "file").value_or("") == "mine\n");
  CHECK(guest_driver{create(*backend, spec)}.run("cat file").output == "mine\n");
  REQUIRE(backend->destroy(spec.id, true));
  CHECK_FALSE(fs::exists(pool.path() / "data/users" / (this_user() + "-alice") / "threads/t1"));
  CHECK(fs::is_empty(pool.path() / "data/trash"));
}

TEST_CASE("an anonymous sandbox takes its files along") {
  namespace_pool pool;
  auto backend = pool.open();
  sandbox_spec spec{random_sandbox_id(), {}, true};
  guest_driver{create(*backend, spec)}.run("echo x > file");
  CHECK_FALSE(fs::is_empty(pool.path() / "data/anonymous"));
  REQUIRE(backend->destroy(spec.id, false));
  CHECK(fs::is_empty(pool.path() / "data/anonymous"));
  CHECK(traces_of(pool, spec.id).empty());
}

TEST_CASE("a purge copes with whatever an agent left and touches nothing else") {
  namespace_pool pool;
  auto backend = pool.open();
  auto spec = spec_of("t1");
  auto outside = pool.path() / "outside";
  REQUIRE(make_directory(outside, 0777));
  REQUIRE(put(outside / "precious", "p"));
  auto made = create(*backend, spec);
  {
    guest_driver guest{made};
    guest.run("ln -s " + outside.native() + " link; ln -s " + outside.native() + "/precious l2");
    guest.run("mkdir -p denied/inner; touch denied/inner/x; chmod 000 denied/inner denied");
    // Far longer than a path may be.
    guest.run("python3 -c 'exec(\"import os\\nfor i in range(200): os.mkdir(str(8) * 250); "
              "os.chdir(str(8) * 250)\")'");
    guest.run("mkfifo pipe; touch $'new\\nline'; mkdir ro; touch ro/x; chmod 555 ro");
  }
  REQUIRE(backend->destroy(spec.id, true));
  CHECK(fs::is_empty(pool.path() / "data/trash"));
  CHECK(read_small_file(outside / "precious").value_or("") == "p");
}

TEST_CASE("what a daemon left when it was killed is found and removed by the next") {
  namespace_pool pool;
  auto spec = spec_of("t1");
  leave_behind(pool, spec);
  auto backend = pool.open();
  REQUIRE(backend->list() == std::vector{spec.id});
  CHECK(backend->healthy(spec.id));
  REQUIRE(backend->destroy(spec.id, false));
  CHECK(backend->list().empty());
  CHECK(traces_of(pool, spec.id).empty());
}

TEST_CASE("what a daemon left when it was killed can be taken over by the next") {
  namespace_pool pool;
  auto spec = spec_of("t1");
  leave_behind(pool, spec);
  auto backend = pool.open();
  backend->leave_running();
  auto found = backend->discover(spec.id);
  REQUIRE(found);
  CHECK(found->who == spec.who);
  CHECK_FALSE(found->stale);
  CHECK(backend->list().empty());
  CHECK_FALSE(backend->discover(spec.id)); // It is ours already.
  backend.reset();                         // Leaves it once more.
  auto changed = pool.settings();
  changed.limits.tmp_size = 1 << 20;
  auto next = pool.open(changed);
  found = next->discover(spec.id);
  REQUIRE(found);
  CHECK(found->stale);
  REQUIRE(next->destroy(spec.id, false));
  CHECK(traces_of(pool, spec.id).empty());
}

TEST_CASE("what can't be taken over is not found") {
  namespace_pool pool;
  auto spec = spec_of("t1");
  leave_behind(pool, spec);
  auto other_pool = pool.settings();
  other_pool.pool = "other";
  CHECK_FALSE(pool.open(other_pool)->discover(spec.id));
  auto store = jail::record_store::open(pool.path() / "state/sandboxes").value();
  auto record = store.read(spec.id).value();
  auto backend = pool.open();
  CHECK_FALSE(backend->discover(sandbox_id_of({"default", "unknown"})));
  CHECK_FALSE(backend->discover("../etc"));
  auto changed = record;
  changed.guest.start_time += 1; // Its pid is another process's now.
  REQUIRE(store.write(changed));
  CHECK_FALSE(backend->discover(spec.id));
  REQUIRE(store.write(record));
  REQUIRE(backend->end_left(pool.path() / "state", spec.id));
  CHECK_FALSE(backend->healthy(spec.id));
  CHECK_FALSE(store.read(spec.id));
  REQUIRE(backend->end_left(pool.path() / "no such directory", spec.id));
  REQUIRE(backend->destroy(spec.id, false));
  CHECK(traces_of(pool, spec.id).empty());
}

TEST_CASE("a sandbox of which only bwrap is on record is ended with all in it") {
  namespace_pool pool;
  auto spec = spec_of("t1");
  leave_behind(pool, spec);
  auto store = jail::record_store::open(pool.path() / "state/sandboxes").value();
  auto record = store.read(spec.id).value();
  auto guest = record.guest;
  record.guest = {};
  REQUIRE(store.write(record));
  auto backend = pool.open();
  REQUIRE(backend->destroy(spec.id, false));
  auto process = foreign_process::open(guest.pid, guest.start_time);
  CHECK((!process || process->wait_for_end({})));
  CHECK(traces_of(pool, spec.id).empty());
}

TEST_CASE("a record of a pid that is another process now harms nobody") {
  namespace_pool pool;
  auto spec = spec_of("t1");
  auto backend = pool.open();
  auto store = jail::record_store::open(pool.path() / "state/sandboxes").value();
  auto bystander = child_process::spawn({{"/bin/sleep", "60"}, {}, {}}).value();
  jail::process_name reused{bystander.pid(), process_start_time(bystander.pid()).value() - 1};
  REQUIRE(store.write({spec.id, "default", spec.who, false, 1, reused, reused, "", ""}));
  REQUIRE(backend->list() == std::vector{spec.id});
  CHECK(backend->destroy(spec.id, false));
  CHECK(backend->list().empty());
  CHECK_FALSE(bystander.wait_for({}));
}

TEST_CASE("records that can't be read are removed, and files that aren't ours stay") {
  namespace_pool pool;
  auto backend = pool.open();
  auto records = pool.path() / "state/sandboxes";
  std::string broken = "0123456789abcdef";
  REQUIRE(put(records / (broken + ".json"), "{\"id\":"));
  REQUIRE(put(records / "notes.json", "hello"));
  CHECK(backend->list() == std::vector{broken});
  CHECK(backend->destroy(broken, true));
  CHECK(backend->list().empty());
  CHECK(fs::exists(records / "notes.json"));
}

TEST_CASE("another pool's sandboxes are left alone") {
  namespace_pool pool;
  auto backend = pool.open();
  auto spec = spec_of("t1");
  auto made = create(*backend, spec);
  auto settings = pool.settings();
  settings.pool = "second";
  auto second = pool.open(settings);
  CHECK(second->list().empty());
  auto refused = second->create(spec);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::identity_collision);
  CHECK(guest_driver{made}.run("echo alive").output == "alive\n");
}

TEST_CASE("an id that is another owner's is refused and its sandbox not disturbed") {
  namespace_pool pool;
  auto backend = pool.open();
  auto spec = spec_of("t1");
  leave_behind(pool, spec);
  auto other = spec;
  other.who.thread = "t2";
  auto refused = backend->create(other);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::identity_collision);
  CHECK(backend->healthy(spec.id));
  REQUIRE(backend->destroy(spec.id, false));
}

TEST_CASE("a leftover of the same owner makes way for its new sandbox") {
  namespace_pool pool;
  auto spec = spec_of("t1");
  leave_behind(pool, spec);
  auto backend = pool.open();
  auto made = create(*backend, spec);
  CHECK(guest_driver{made}.run("echo new").output == "new\n");
}

TEST_CASE("a guest that fails to start leaves nothing, and the error names the step alone") {
  namespace_pool pool;
  auto settings = pool.settings();
  settings.guest_options = {"--fail", "yes"};
  std::string reported;
  settings.report = [&](std::string_view cause) { reported = cause; };
  auto backend = pool.open(settings);
  auto spec = spec_of("t1");
  auto before = open_descriptors();
  auto made = backend->create(spec);
  REQUIRE_FALSE(made);
  CHECK(made.error().code == errc::sandbox_runtime);
  CHECK(made.error().details.text("step") == "guest");
  CHECK(made.error().message.find(pool.path().native()) == std::string::npos);
  CHECK_FALSE(reported.empty());
  CHECK(traces_of(pool, spec.id).empty());
  CHECK(backend->list().empty());
  CHECK(open_descriptors() == before);
}

TEST_CASE("a guest that hangs is given up after the start timeout") {
  namespace_pool pool;
  auto settings = pool.settings();
  settings.guest = "/bin/bash"; // Reads commands from /dev/null; never dials.
  settings.guest_options = {"-c", "sleep 60"};
  settings.start_timeout = std::chrono::milliseconds{300};
  settings.report = {};
  auto backend = pool.open(settings);
  auto made = backend->create(spec_of("t1"));
  REQUIRE_FALSE(made);
  CHECK(made.error().details.text("step") == "guest");
  CHECK(backend->list().empty());
}

TEST_CASE("a bubblewrap that fails is reported with what it said") {
  namespace_pool pool;
  auto settings = pool.settings();
  settings.bwrap = pool.path() / "bwrap";
  REQUIRE(put(settings.bwrap, "#!/bin/sh\necho 'no luck today' >&2\nexit 1\n", 0755));
  std::string reported;
  settings.report = [&](std::string_view cause) { reported = cause; };
  auto backend = pool.open(settings);
  auto made = backend->create(spec_of("t1"));
  REQUIRE_FALSE(made);
  CHECK(made.error().details.text("step") == "bubblewrap");
  CHECK(made.error().message.find("luck") == std::string::npos);
  CHECK(reported.find("no luck today") != std::string::npos);
  CHECK(backend->list().empty());
}

TEST_CASE("a sandbox whose guest or bwrap was killed is known to be dead and can be removed") {
  namespace_pool pool;
  auto backend = pool.open();
  auto spec = spec_of("t1");
  auto made = create(*backend, spec);
  auto store = jail::record_store::open(pool.path() / "state/sandboxes").value();
  auto record = store.read(spec.id).value();
  SUBCASE("the guest") {
    REQUIRE(::kill(made.guest_pid, SIGKILL) == 0);
    auto gone = foreign_process::open(record.guest.pid, record.guest.start_time);
    CHECK((!gone || gone->wait_for_end(std::chrono::seconds{5})));
    CHECK_FALSE(backend->healthy(spec.id));
  }
  SUBCASE("bwrap") {
    REQUIRE(::kill(record.outer.pid, SIGKILL) == 0);
    CHECK(backend->healthy(spec.id));
  }
  SUBCASE("both, stopped") {
    REQUIRE(::kill(record.outer.pid, SIGSTOP) == 0);
    REQUIRE(::kill(record.guest.pid, SIGSTOP) == 0);
  }
  CHECK(backend->destroy(spec.id, false));
  CHECK(traces_of(pool, spec.id).empty());
  CHECK(guest_driver{create(*backend, spec)}.run("echo again").output == "again\n");
}

TEST_CASE("sandboxes are made side by side") {
  namespace_pool pool;
  auto backend = pool.open();
  std::vector<std::thread> threads;
  std::vector<result<endpoint>> made(4, result<endpoint>{});
  for (size_t i = 0; i < made.size(); ++i)
    threads.emplace_back([&, i] { made[i] = backend->create(spec_of("t" + std::to_string(i))); });
  for (auto& t : threads)
    t.join();
  for (auto& x : made) {
    REQUIRE(x);
    CHECK(guest_driver{*x}.run("echo $((6 * 7))").output == "42\n");
    CHECK(backend->destroy(x->id, true));
    CHECK(traces_of(pool, x->id).empty());
  }
}

TEST_CASE("fifty sandboxes later nothing has leaked") {
  namespace_pool pool;
  auto backend = pool.open();
  auto spec = spec_of("t1");
  REQUIRE(backend->destroy(create(*backend, spec).id, false));
  auto before = open_descriptors();
  for (int i = 0; i < 50; ++i) {
    auto made = create(*backend, spec);
    REQUIRE(backend->destroy(made.id, false));
  }
  CHECK(open_descriptors() == before);
  CHECK(traces_of(pool, spec.id).empty());
  CHECK(children_of_ours() == 0);
}

TEST_CASE("a backend that goes takes its sandboxes along") {
  namespace_pool pool;
  auto spec = spec_of("t1");
  {
    auto backend = pool.open();
    create(*backend, spec);
  }
  CHECK(traces_of(pool, spec.id).empty());
}
