#include "providers/namespace/uid_pool.hpp"

#include "os/file_lock.hpp"
#include "os/files.hpp"
#include "providers/namespace/file_copies.hpp"

#include <cerrno>
#include <sstream>
#include <string>

namespace corral::jail {

uid_pool::uid_pool(std::filesystem::path file, uid_t first, uid_t last,
                   std::function<std::set<uid_t>()> taken)
    : file_{std::move(file)}, first_{first}, last_{last}, taken_{std::move(taken)} {}

os_result<uid_t> uid_pool::take(const std::function<os_result<void>(uid_t)>& assign) {
  auto lock_file = file_;
  lock_file += ".lock";
  auto lock = file_lock::acquire(lock_file);
  if (!lock)
    return tl::unexpected{lock.error()};
  // A file from before this start may be older than the directories, as after a restored backup.
  auto free = verified_ ? read_run() : run{};
  if (free.next > free.last)
    free = find_run();
  if (free.next > free.last)
    return os_failure(ENOSPC, "find a free uid");
  if (auto assigned = assign(free.next); !assigned)
    return tl::unexpected{assigned.error()};
  auto rest = std::to_string(free.next + 1) + " " + std::to_string(free.last);
  verified_ = put_file(file_, rest, 0600).has_value();
  return free.next;
}

uid_pool::run uid_pool::read_run() const {
  std::istringstream in{read_small_file(file_, 4096).value_or("")};
  run result;
  if (!(in >> result.next >> result.last) || result.next < first_ || result.last > last_)
    return {};
  return result;
}

/// The first run of free uids behind the highest taken one, else the first one at all.
uid_pool::run uid_pool::find_run() const {
  auto taken = taken_();
  taken.erase(taken.begin(), taken.lower_bound(first_));
  taken.erase(taken.upper_bound(last_), taken.end());
  if (taken.empty())
    return {first_, last_};
  if (*taken.rbegin() < last_)
    return {*taken.rbegin() + 1, last_};
  auto next = first_;
  for (auto uid : taken) {
    if (next < uid)
      return {next, uid - 1};
    next = uid + 1;
  }
  return {};
}

} // namespace corral::jail
