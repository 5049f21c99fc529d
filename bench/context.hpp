#pragma once

#include "bench/children.hpp"
#include "bench/daemon.hpp"
#include "bench/echo.hpp"
#include "bench/row.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace corral::bench {

/// What every row is measured with.
class context {
public:
  context(std::filesystem::path build, bool quick) : build_{std::move(build)}, quick_{quick} {}

  const std::filesystem::path& build() const { return build_; }
  size_t rounds() const { return quick_ ? 3 : 5; }
  /// A number of calls or seconds of a full run; a fraction of it in a quick one.
  size_t scaled(size_t x) const { return quick_ ? std::max<size_t>(x / 5, 1) : x; }

  zmq::context_t& zmq() { return zmq_; }
  bench::echo& echo() { return echo_; }

  /// A line about what is going on.
  void tell(const std::string& text) const;

  /// Measures the rounds with the machine idle, then with both cores busy: a row each.
  std::vector<row> in_both_loads(const std::string& name, const std::string& unit, limit_kind kind,
                                 double budget, const std::function<pair()>& round) const;

private:
  std::filesystem::path build_;
  bool quick_;
  zmq::context_t zmq_{1};
  bench::echo echo_{zmq_};
};

std::vector<row> measure_exec(context& x);
std::vector<row> measure_fan_out(context& x);
std::vector<row> measure_acquire(context& x);
std::vector<row> measure_create(context& x);
std::vector<row> measure_memory(context& x);
std::vector<row> measure_flood(context& x);
std::vector<row> measure_download(context& x);

} // namespace corral::bench
