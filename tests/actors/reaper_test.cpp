#include "actors/reaper.hpp"

#include "tests/support/virtual_system.hpp"

using namespace corral;
using namespace std::chrono_literals;

namespace {

struct fixture : test::virtual_system {
  int reaps = 0;
  /// Stands for a provider, of which a reaper needs one message.
  provider_actor provider =
      caf::actor_cast<provider_actor>(spawn([this](caf::event_based_actor*) -> caf::behavior {
        return {[this](reap_atom) { ++reaps; }};
      }));
  reaper_actor clock = spawn(reaper, provider, duration{60s});
};

} // namespace

TEST_CASE_FIXTURE(fixture,
                  "the first reap comes after one interval, and one after each from then on") {
  run_for(60s - 1ns);
  CHECK(reaps == 0);
  run_for(1ns);
  CHECK(reaps == 1);
  run_for(10min);
  CHECK(reaps == 11);
}

TEST_CASE_FIXTURE(fixture, "one message waits for its time, however long the reaper runs") {
  run_for(24h);
  CHECK(timers() == 1);
}
