#pragma once

#include "os/unique_fd.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace corral::guest {

struct process_entry {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';        ///< As in proc(5); 'Z' has ended already.
  uint64_t start_time = 0; ///< Clock ticks since boot; with the pid it names one process for good.
};

/// The processes of this pid namespace at one moment.
class process_table {
public:
  explicit process_table(const std::vector<process_entry>& entries);
  static process_table read();

  const process_entry* find(pid_t pid) const;
  const std::unordered_map<pid_t, process_entry>& all() const { return entries_; }

private:
  std::unordered_map<pid_t, process_entry> entries_;
};

/// Parses the text of /proc/PID/stat, whose name field may hold anything.
std::optional<process_entry> parse_stat(std::string_view text);

/// Where one command's processes begin: later ones are its own, earlier ones are not. Start times
/// come in ticks of 10 ms, so those of the very tick are told apart by a table read before it.
class birth_line {
public:
  birth_line() = default;
  birth_line(uint64_t tick, const process_table& before_it);
  explicit birth_line(uint64_t tick) : tick_{tick} {}

  bool is_later(const process_entry& x) const;

private:
  uint64_t tick_ = 0;
  std::vector<std::pair<pid_t, uint64_t>> earlier_in_tick_;
};

/// The live processes that were born after the line, descend from `shell` or, orphaned, from
/// `guest`, and have no older ancestor below those two: a server's new worker is the server's.
std::vector<process_entry> processes_since(const process_table& table, const birth_line& line,
                                           pid_t guest, pid_t shell);

/// Every live process below `guest`.
std::vector<process_entry> descendants_of(const process_table& table, pid_t guest);

/// True if it ignores SIGINT, as the jobs that bash starts with `&` do.
bool ignores_interrupt(pid_t pid);

/// The current moment as the kernel stamps new processes.
uint64_t current_start_time();

/// Tells which pid was given out last: it stays the same while nothing is started.
class pid_counter {
public:
  /// Nothing if /proc lacks it.
  std::optional<pid_t> last();

private:
  unique_fd loadavg_; // Kept open: this is asked after every command.
};

} // namespace corral::guest
