#include "bench/context.hpp"

#include "apps/cli/terminal.hpp"

#include <thread>

namespace corral::bench {

void context::tell(const std::string& text) const {
  (void)cli::write_to(cli::stream::err, "bench: " + text + "\n");
}

std::vector<row> context::in_both_loads(const std::string& name, const std::string& unit,
                                        limit_kind kind, double budget,
                                        const std::function<pair()>& round) const {
  std::vector<row> rows;
  for (std::string load : {"idle", "busy"}) {
    spinners busy{load == "busy" ? static_cast<int>(std::thread::hardware_concurrency()) : 0};
    round(); // Caches, lazily made buffers, frequencies.
    std::vector<pair> rounds;
    for (size_t i = 0; i < this->rounds(); ++i)
      rounds.push_back(round());
    rows.push_back(ratio_row(name, load, unit, rounds, kind, budget));
    tell(name + ", " + load + ": " + std::to_string(rows.back().value));
  }
  return rows;
}

} // namespace corral::bench
