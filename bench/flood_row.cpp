#include "bench/context.hpp"
#include "bench/process_memory.hpp"

#include <algorithm>
#include <thread>

namespace corral::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto pace = 5ms; // Between two samples of one neighbour.

/// Sends an exec of a builtin to each neighbour at a steady pace; how long each took.
samples sample(std::vector<dealer>& neighbours, const std::vector<std::string>& headers,
               size_t count, const std::function<void(size_t)>& at_each) {
  samples result;
  auto next = clock::now();
  for (size_t i = 0; result.size() < count; ++i) {
    for (size_t n = 0; n < neighbours.size(); ++n)
      result.push_back(time_of([&] { neighbours[n].ask(headers[n], ":"); }));
    at_each(i);
    next = std::max(next + pace * 2, clock::now());
    std::this_thread::sleep_until(next);
  }
  return result;
}

/// How much a process's memory grows once it has taken what it needs to begin with.
class growth {
public:
  void add(uint64_t bytes) {
    if (first_ == 0)
      first_ = bytes;
    largest_ = std::max(largest_, bytes);
  }
  double kib() const { return static_cast<double>(largest_ - first_) / 1024; }

private:
  uint64_t first_ = 0;
  uint64_t largest_ = 0;
};

/// That there was one: the reply to the cancelled command says how much it wrote.
void check_flood(dealer& client) {
  for (;;) {
    auto x = client.receive();
    auto written = fields::parse(x.text()).value_or(fields{}).integer("stdout_bytes");
    if (!written)
      continue; // The reply to the cancel itself.
    if (*written < int64_t{100} * 1024 * 1024)
      throw std::runtime_error{"yes wrote " + std::to_string(*written) + " bytes only"};
    return;
  }
}

} // namespace

std::vector<row> measure_flood(context& x) {
  daemon corrald{x.build(), {}};
  auto loud = corrald.acquire("loud");
  std::vector<dealer> neighbours;
  std::vector<std::string> headers;
  for (std::string name : {"a", "b"}) {
    headers.push_back(exec_header(corrald.acquire(name), 1));
    neighbours.emplace_back(x.zmq(), corrald.endpoint());
    neighbours.back().ask(headers.back(), ":");
  }
  auto count = x.scaled(2000);
  auto quiet = sample(neighbours, headers, count, [](size_t) {});
  x.tell("yes: now with it");
  dealer flood{x.zmq(), corrald.endpoint()};
  flood.send(exec_header(loud, 3), "yes");
  growth daemon_memory, guest_memory;
  auto early = count / 10;
  auto disturbed = sample(neighbours, headers, count, [&](size_t i) {
    if (i * neighbours.size() < early || i % 50 != 0)
      return;
    daemon_memory.add(resident_bytes(corrald.pid()));
    auto all = sandbox_bytes(corrald.pid());
    guest_memory.add(*std::max_element(all.begin(), all.end()));
  });
  flood.send(R"({"op":"cancel","id":"c","request":"1"})");
  check_flood(flood);
  pair p99{percentile(quiet, 0.99), percentile(disturbed, 0.99)};
  return {ratio_row("yes: neighbours' p99", "", "us", {p99}, limit_kind::at_most, 3),
          absolute_row("yes: daemon grows", "KiB", daemon_memory.kib(), 256),
          absolute_row("yes: guest grows", "KiB", guest_memory.kib(), 256)};
}

} // namespace corral::bench
