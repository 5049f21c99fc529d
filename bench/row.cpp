#include "bench/row.hpp"

#include "apps/cli/terminal.hpp"

#include <cstdio>

namespace corral::bench {

namespace {

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, x >= 100 ? "%.0f" : x >= 10 ? "%.1f" : "%.2f", x);
  return text;
}

} // namespace

row ratio_row(std::string name, std::string load, std::string unit, const std::vector<pair>& rounds,
              limit_kind kind, double budget) {
  samples measured, baseline, ratios;
  for (auto& x : rounds) {
    measured.push_back(x.measured);
    baseline.push_back(x.baseline);
    ratios.push_back(x.measured / x.baseline);
  }
  return {std::move(name),
          std::move(load),
          std::move(unit),
          median(measured),
          median(baseline),
          median(ratios),
          kind,
          budget};
}

row absolute_row(std::string name, std::string unit, double measured, double budget) {
  return {std::move(name),     "",    std::move(unit), measured, {}, measured,
          limit_kind::at_most, budget};
}

namespace {

std::string budget_of(const row& x) {
  if (x.kind == limit_kind::none)
    return "-";
  return (x.kind == limit_kind::at_most ? "<= " : ">= ") + number(x.budget);
}

const char* verdict_of(const row& x) {
  if (x.kind == limit_kind::none)
    return "-";
  return x.met() ? "met" : "MISSED";
}

} // namespace

std::string format(const std::vector<row>& rows) {
  std::vector<std::vector<std::string>> table{
      {"ROW", "LOAD", "MEASURED", "BASELINE", "UNIT", "RATIO", "BUDGET", "VERDICT"}};
  for (auto& x : rows)
    table.push_back({x.name, x.load, number(x.measured), x.baseline ? number(*x.baseline) : "-",
                     x.unit, x.baseline ? number(x.value) : "-", budget_of(x), verdict_of(x)});
  return cli::format_table(table);
}

fields to_fields(const row& x) {
  fields f;
  f.set("row", x.name).set("load", x.load).set("unit", x.unit).set("measured", x.measured);
  if (x.baseline)
    f.set("baseline", *x.baseline).set("ratio", x.value);
  if (x.kind != limit_kind::none)
    f.set(x.kind == limit_kind::at_most ? "at_most" : "at_least", x.budget);
  return f.set("met", x.met());
}

} // namespace corral::bench
