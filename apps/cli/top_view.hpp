// What `corral top` shows, from what the daemon counts.

#pragma once

#include "messages/wire/fields.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace corral::cli {

/// The daemon's counters at one moment.
struct top_sample {
  using time_point = std::chrono::steady_clock::time_point;

  /// From the results of `stats` and of `get` for each sandbox.
  static top_sample of(time_point at, const fields& stats, const std::vector<fields>& sandboxes);

  time_point at;
  fields totals;                        ///< sandboxes, active, warm, ..., summed over the pools.
  std::map<std::string, int64_t> done;  ///< Requests answered: execs, files, acquires, errors.
  std::map<std::string, int64_t> execs; ///< Finished, by sandbox.
  std::vector<fields> rows;             ///< One a sandbox, those in use first.
};

/// What happened between two samples, per second of the time between them. A counter that fell (a
/// restart, a sandbox made anew) has no rate: 0.
class top_view {
public:
  top_view(const top_sample& before, const top_sample& now) : before_{before}, now_{now} {}

  /// Heading and table: at most `lines` lines of at most `width` columns; 0 stands for no limit.
  std::string text(size_t lines, size_t width) const;

  /// {totals, per_second: {execs, ...}, sandboxes: [{..., execs_per_second}]}
  fields json() const;

private:
  double rate(const std::string& name) const;
  double execs_of(const std::string& sandbox) const;
  double per_second(int64_t before, int64_t now) const;

  const top_sample& before_;
  const top_sample& now_;
};

} // namespace corral::cli
