#include "providers/claimed_backend.hpp"

#include "messages/wire/owner.hpp"
#include "os/temp_dir.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <thread>

using namespace corral;
using namespace std::chrono_literals;

namespace {

const owner ann{"default", "t1"};
const sandbox_spec spec{sandbox_id_of(ann), ann, false};

/// What exists of a daemon's sandboxes; outlives the daemon.
struct world {
  std::set<std::string> running;
  int made = 0;
};

class fake_backend : public sandbox_backend {
public:
  explicit fake_backend(world& x) : world_{x} {}

  bool fails = false;
  bool stale = false;
  std::vector<std::string> ended_left; ///< "state_dir id"
  world* other = nullptr;              ///< Of the daemon that `end_left` cleans up after.

  backend_traits traits() const override { return {}; }
  result<void> probe() override { return {}; }
  std::vector<std::string> warnings() const override { return {}; }
  result<endpoint> create(const sandbox_spec& x) override {
    if (fails)
      return failure(errc::sandbox_runtime, "no");
    CHECK(world_.running.insert(x.id).second);
    ++world_.made;
    return endpoint{x.id, x.who, nullptr, 0, "", false};
  }
  result<endpoint> discover(const std::string& id) override {
    if (!world_.running.contains(id))
      return failure(errc::sandbox_not_found, "none");
    return endpoint{id, ann, nullptr, 0, "", stale};
  }
  result<void> destroy(const std::string& id, bool) override {
    world_.running.erase(id);
    return {};
  }
  result<void> end_left(const std::string& where, const std::string& id) override {
    ended_left.push_back(where + " " + id);
    if (other)
      other->running.erase(id);
    return {};
  }
  std::vector<std::string> list() override {
    return {world_.running.begin(), world_.running.end()};
  }
  void leave_running() override {}
  bool healthy(const std::string&) override { return true; }
  std::optional<memory_counters> memory(const std::string&) const override { return {}; }

private:
  world& world_;
};

struct fake_daemon {
  std::shared_ptr<fake_backend> backend;
  claimed_backend claimed;

  fake_daemon(const temp_dir& data, const std::string& name, world& x)
      : backend{std::make_shared<fake_backend>(x)},
        claimed{backend, std::make_shared<const host_claims>(std::move(
                             *host_claims::open(data.path(), {"ipc://" + name, "/" + name})))} {}

  std::string obtain() {
    auto x = claimed.obtain(spec);
    if (!x)
      return std::string{to_string(x.error().code)};
    return x->second ? "found" : "made";
  }
};

struct fixture {
  temp_dir data = std::move(*temp_dir::make("claims"));
  world of_a, of_b;
  std::optional<fake_daemon> a{std::in_place, data, "a", of_a};
  fake_daemon b{data, "b", of_b};
};

} // namespace

TEST_CASE_FIXTURE(fixture, "a sandbox that a living daemon has is not made by another") {
  CHECK(a->obtain() == "made");
  auto refused = b.claimed.obtain(spec);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::moved);
  CHECK(refused.error().details.text("endpoint") == "ipc://a");
  CHECK(of_b.made == 0);
  REQUIRE(a->claimed.destroy(spec.id, false));
  CHECK(b.obtain() == "made");
  CHECK(a->obtain() == "moved");
}

TEST_CASE_FIXTURE(fixture, "what a dead daemon had is ended before another makes it") {
  CHECK(a->obtain() == "made");
  a.reset();
  b.backend->other = &of_a;
  CHECK(b.obtain() == "made");
  CHECK(b.backend->ended_left == std::vector{"/a " + spec.id});
  CHECK(of_a.running.empty());
}

TEST_CASE_FIXTURE(fixture, "a daemon takes over what its earlier run left, unless another has it") {
  CHECK(a->obtain() == "made");
  a.reset();
  a.emplace(data, "a", of_a);
  auto report = [](const std::string& x) { FAIL(x); };
  auto found = a->claimed.take_over(report);
  REQUIRE(found.size() == 1);
  CHECK(found[0].who == ann);
  CHECK(b.obtain() == "moved"); // To the new run.
  a.reset();
  CHECK(b.obtain() == "made");
  of_a.running.insert(spec.id); // It has come through all the same.
  a.emplace(data, "a", of_a);
  CHECK(a->claimed.take_over(report).empty());
  CHECK(of_a.running.empty());
  CHECK(a->obtain() == "moved");
}

TEST_CASE_FIXTURE(fixture, "what could not be made is anybody's") {
  a->backend->fails = true;
  CHECK(a->obtain() == "sandbox_runtime");
  CHECK(b.obtain() == "made");
}

TEST_CASE_FIXTURE(fixture, "one that was found with other settings is made anew") {
  CHECK(a->obtain() == "made");
  CHECK(a->obtain() == "found");
  a->backend->stale = true;
  CHECK(a->obtain() == "made");
}

TEST_CASE_FIXTURE(fixture, "daemons that race for a sandbox make one") {
  for (int i = 0; i < 200; ++i) {
    std::string of_ann, of_bob;
    std::thread other{[&] { of_bob = b.obtain(); }};
    of_ann = a->obtain();
    other.join();
    auto won = of_ann == "made" ? &a->claimed : &b.claimed;
    CHECK(std::set{of_ann, of_bob} == std::set<std::string>{"made", "moved"});
    REQUIRE(won->destroy(spec.id, false));
  }
}

TEST_CASE_FIXTURE(fixture, "who waits too long for a claim is told") {
  host_claims mine = std::move(*host_claims::open(data.path(), {"x", "y"}));
  auto held = mine.lock(spec.id, 1s);
  REQUIRE(held);
  auto late = mine.lock(spec.id, 10ms);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == errc::sandbox_runtime);
  CHECK(late.error().details.text("step") == "claim");
}
