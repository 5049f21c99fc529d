#include "apps/cli/top_view.hpp"

#include "apps/cli/terminal.hpp"
#include "messages/wire/ops.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

namespace corral::cli {

namespace {

/// In use before at rest.
size_t rank_of(const fields& row) {
  static constexpr std::array<std::string_view, 5> order{"leased", "borrowed", "starting", "parked",
                                                         "ending"};
  auto state = row.text("state").value_or("");
  return static_cast<size_t>(std::find(order.begin(), order.end(), state) - order.begin());
}

bool comes_first(const fields& a, const fields& b) {
  auto key = [](const fields& x) {
    return std::tuple{rank_of(x), x.text("user").value_or(""), x.text("thread").value_or(""),
                      x.text("sandbox").value_or("")};
  };
  return key(a) < key(b);
}

int64_t sum_over_pools(const fields& stats, const char* name) {
  auto x = nlohmann::json::parse(stats.dump());
  int64_t sum = 0;
  for (auto& pool : x.value("pools", nlohmann::json::array()))
    sum += pool.value(name, int64_t{0});
  return sum;
}

int64_t count_of(const fields& latency, std::string_view op) {
  return latency.object(op).value_or(fields{}).integer("count").value_or(0);
}

int64_t sum_of(const fields& counters) {
  int64_t sum = 0;
  for (auto& name : counters.names())
    sum += counters.integer(name).value_or(0);
  return sum;
}

std::string number(const fields& x, std::string_view name) {
  return std::to_string(x.integer(name).value_or(0));
}

std::string with_tenth(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", x);
  return text.data();
}

std::string duration_text(int64_t ms) {
  auto s = ms / 1000;
  if (s < 60)
    return std::to_string(s) + "s";
  if (s < 3600)
    return std::to_string(s / 60) + "m" + std::to_string(s % 60) + "s";
  return std::to_string(s / 3600) + "h" + std::to_string(s / 60 % 60) + "m";
}

/// The first `lines` lines, each cut at `width`.
std::string cut(const std::string& text, size_t lines, size_t width) {
  std::string result;
  size_t taken = 0;
  for (size_t start = 0; start < text.size() && (lines == 0 || taken < lines); ++taken) {
    auto end = text.find('\n', start);
    auto line = text.substr(start, end - start);
    result += (width == 0 ? line : line.substr(0, width)) + "\n";
    start = end + 1;
  }
  return result;
}

} // namespace

top_sample top_sample::of(time_point at, const fields& stats, const std::vector<fields>& rows) {
  top_sample x;
  x.at = at;
  x.rows = rows;
  for (auto name : {"clients", "open"})
    x.totals.set(name, stats.integer(name).value_or(0));
  for (auto name : {"sandboxes", "active", "warm", "replicas", "max_sandboxes", "leases"})
    x.totals.set(name, sum_over_pools(stats, name));
  auto latency = stats.object("latency").value_or(fields{});
  x.done = {{"execs", count_of(latency, "exec")},
            {"acquires", count_of(latency, "acquire")},
            {"errors", sum_of(stats.object("errors").value_or(fields{}))}};
  for (auto& op : all_ops())
    if (op.file)
      x.done["files"] += count_of(latency, op.name);
  for (auto& row : rows)
    x.execs[row.text("sandbox").value_or("")] =
        row.object("usage").value_or(fields{}).integer("execs").value_or(0);
  std::sort(x.rows.begin(), x.rows.end(), comes_first);
  return x;
}

double top_view::per_second(int64_t before, int64_t now) const {
  auto seconds = std::chrono::duration<double>(now_.at - before_.at).count();
  return seconds > 0 && now > before ? static_cast<double>(now - before) / seconds : 0;
}

double top_view::rate(const std::string& name) const {
  auto before = before_.done.find(name);
  auto now = now_.done.find(name);
  return before != before_.done.end() && now != now_.done.end()
             ? per_second(before->second, now->second)
             : 0;
}

double top_view::execs_of(const std::string& sandbox) const {
  auto before = before_.execs.find(sandbox);
  auto now = now_.execs.find(sandbox);
  if (now == now_.execs.end())
    return 0;
  return per_second(before != before_.execs.end() ? before->second : 0, now->second);
}

std::string top_view::text(size_t lines, size_t width) const {
  auto& t = now_.totals;
  auto head = number(t, "sandboxes") + " sandboxes: " + number(t, "active") + " in use, "
              + number(t, "warm") + " warm; replicas " + number(t, "replicas") + ", at most "
              + number(t, "max_sandboxes") + ". " + number(t, "leases") + " leases, "
              + number(t, "clients") + " clients, " + number(t, "open") + " open requests.\n";
  head += "Per second: " + with_tenth(rate("execs")) + " execs, " + with_tenth(rate("files"))
          + " file operations, " + with_tenth(rate("acquires")) + " acquires, "
          + with_tenth(rate("errors")) + " errors.\n\n";
  std::vector<std::vector<std::string>> table{
      {"ID", "USER", "THREAD", "STATE", "LEASES", "RUNNING", "QUEUE", "EXECS", "EXECS/S", "IDLE"}};
  for (auto& row : now_.rows) {
    auto usage = row.object("usage").value_or(fields{});
    auto id = row.text("sandbox").value_or("");
    auto working = usage.integer("active").value_or(0);
    table.push_back({id, row.text("user").value_or(""), row.text("thread").value_or("-"),
                     row.text("state").value_or(""), number(row, "leases"), std::to_string(working),
                     number(row, "queue"), number(usage, "execs"), with_tenth(execs_of(id)),
                     working > 0 ? "-" : duration_text(usage.integer("idle_ms").value_or(0))});
  }
  return cut(head + format_table(table), lines, width);
}

fields top_view::json() const {
  fields rates;
  for (auto& [name, n] : now_.done)
    rates.set(name, rate(name));
  auto rows = now_.rows;
  for (auto& row : rows)
    row.set("execs_per_second", execs_of(row.text("sandbox").value_or("")));
  return fields{}.set("totals", now_.totals).set("per_second", rates).set("sandboxes", rows);
}

} // namespace corral::cli
