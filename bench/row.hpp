#pragma once

#include "bench/samples.hpp"
#include "messages/wire/fields.hpp"

#include <optional>
#include <string>
#include <vector>

namespace corral::bench {

/// What the budget is to the figure; `none` for a row that only explains another.
enum class limit_kind { at_most, at_least, none };

/// One line of the table.
struct row {
  std::string name;
  std::string load; ///< What else the machine did: "idle", "busy" or "".
  std::string unit; ///< Of both figures.
  double measured = 0;
  std::optional<double> baseline; ///< Nothing where the budget is absolute.
  double value = 0;               ///< What the budget bounds: the ratio, or `measured` itself.
  limit_kind kind = limit_kind::at_most;
  double budget = 0;

  bool met() const {
    return kind == limit_kind::none
           || (kind == limit_kind::at_most ? value <= budget : value >= budget);
  }
};

/// A row about a ratio: of each round's figures the ratio, of the ratios the median.
row ratio_row(std::string name, std::string load, std::string unit, const std::vector<pair>& rounds,
              limit_kind kind, double budget);

/// A row about a figure by itself.
row absolute_row(std::string name, std::string unit, double measured, double budget);

std::string format(const std::vector<row>& rows);

fields to_fields(const row& x);

} // namespace corral::bench
