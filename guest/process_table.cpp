#include "guest/process_table.hpp"

#include "os/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>

namespace corral::guest {

namespace {

template <class Int>
bool parse_int(std::string_view text, Int& out, int base = 10) {
  return std::from_chars(text.data(), text.data() + text.size(), out, base).ec == std::errc{};
}

struct closes_dir {
  void operator()(DIR* x) const { ::closedir(x); }
};

enum class lineage : uint8_t { ours, foreign };

/// Walks up from `x` until the guest or the shell; bounded, because the table may be torn.
template <class Stop>
lineage trace(const process_table& table, const process_entry& x, pid_t guest, pid_t shell,
              Stop stop) {
  auto* at = &x;
  for (size_t steps = 0; at && steps <= table.all().size(); ++steps) {
    if (stop(*at))
      return lineage::foreign;
    if (at->parent == guest || at->parent == shell)
      return lineage::ours;
    at = table.find(at->parent);
  }
  return lineage::foreign;
}

} // namespace

process_table::process_table(const std::vector<process_entry>& entries) {
  for (auto& x : entries)
    entries_.emplace(x.pid, x);
}

process_table process_table::read() {
  std::vector<process_entry> entries;
  std::unique_ptr<DIR, closes_dir> dir{::opendir("/proc")};
  while (auto* item = dir ? ::readdir(dir.get()) : nullptr) {
    if (item->d_name[0] < '1' || item->d_name[0] > '9')
      continue;
    if (auto text = read_small_file(std::string{"/proc/"} + item->d_name + "/stat"))
      if (auto entry = parse_stat(*text))
        entries.push_back(*entry);
  }
  return process_table{entries};
}

const process_entry* process_table::find(pid_t pid) const {
  auto i = entries_.find(pid);
  return i != entries_.end() ? &i->second : nullptr;
}

std::optional<process_entry> parse_stat(std::string_view text) {
  process_entry result;
  auto bracket = text.rfind(')');
  if (bracket == std::string_view::npos || bracket + 2 >= text.size()
      || !parse_int(text, result.pid))
    return std::nullopt;
  auto rest = text.substr(bracket + 2);
  result.state = rest[0];
  constexpr int parent_field = 4, start_field = 22;
  for (int field = 3; field < start_field; ++field) {
    auto space = rest.find(' ');
    if (space == std::string_view::npos)
      return std::nullopt;
    rest.remove_prefix(space + 1);
    if (field + 1 == parent_field && !parse_int(rest, result.parent))
      return std::nullopt;
  }
  if (!parse_int(rest, result.start_time))
    return std::nullopt;
  return result;
}

birth_line::birth_line(uint64_t tick, const process_table& before_it) : tick_{tick} {
  for (auto& [pid, x] : before_it.all())
    if (x.start_time >= tick)
      earlier_in_tick_.emplace_back(pid, x.start_time);
}

bool birth_line::is_later(const process_entry& x) const {
  if (x.start_time < tick_)
    return false;
  return std::find(earlier_in_tick_.begin(), earlier_in_tick_.end(), std::pair{x.pid, x.start_time})
         == earlier_in_tick_.end();
}

std::vector<process_entry> processes_since(const process_table& table, const birth_line& line,
                                           pid_t guest, pid_t shell) {
  std::vector<process_entry> result;
  auto is_older = [&](auto& x) { return !line.is_later(x); };
  for (auto& [pid, x] : table.all())
    if (pid != guest && pid != shell && x.state != 'Z'
        && trace(table, x, guest, shell, is_older) == lineage::ours)
      result.push_back(x);
  return result;
}

std::vector<process_entry> descendants_of(const process_table& table, pid_t guest) {
  std::vector<process_entry> result;
  for (auto& [pid, x] : table.all())
    if (pid != guest && x.state != 'Z'
        && trace(table, x, guest, guest, [](auto&) { return false; }) == lineage::ours)
      result.push_back(x);
  return result;
}

bool ignores_interrupt(pid_t pid) {
  auto text = read_small_file("/proc/" + std::to_string(pid) + "/status");
  constexpr std::string_view label = "SigIgn:\t";
  auto at = text ? text->find(label) : std::string::npos;
  uint64_t mask = 0;
  return at != std::string::npos
         && parse_int(std::string_view{*text}.substr(at + label.size()), mask, 16)
         && (mask >> (SIGINT - 1) & 1) != 0;
}

uint64_t current_start_time() {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  auto hz = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<uint64_t>(t.tv_sec) * hz
         + static_cast<uint64_t>(t.tv_nsec) * hz / 1'000'000'000;
}

std::optional<pid_t> pid_counter::last() {
  if (!loadavg_)
    loadavg_.reset(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC));
  std::array<char, 128> buffer; // 0.20 0.18 0.12 1/80 11206
  auto n = loadavg_ ? ::pread(loadavg_.get(), buffer.data(), buffer.size(), 0) : -1;
  std::string_view text{buffer.data(), static_cast<size_t>(std::max<ssize_t>(n, 0))};
  auto space = text.rfind(' ');
  pid_t pid = 0;
  if (space == std::string_view::npos || !parse_int(text.substr(space + 1), pid))
    return std::nullopt;
  return pid;
}

} // namespace corral::guest
