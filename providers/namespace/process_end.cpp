#include "providers/namespace/process_end.hpp"

#include "os/files.hpp"

#include <signal.h>

#include <cerrno>
#include <sstream>
#include <vector>

namespace corral::jail {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

milliseconds left_until(clock::time_point deadline) {
  auto left = std::chrono::duration_cast<milliseconds>(deadline - clock::now());
  return std::max(left, milliseconds{0});
}

os_result<void> end_process(process_name name, clock::time_point deadline) {
  if (name.pid == 0)
    return {};
  auto process = foreign_process::open(name.pid, name.start_time);
  if (!process)
    return process.error().number == ESRCH ? os_result<void>{} : tl::unexpected{process.error()};
  if (auto killed = process->kill(SIGKILL); !killed)
    return killed;
  if (!process->wait_for_end(left_until(deadline)))
    return os_failure(ETIMEDOUT, "end process", std::to_string(name.pid));
  return {};
}

std::vector<process_name> children_of(pid_t pid) {
  auto number = std::to_string(pid);
  std::istringstream in{
      read_small_file("/proc/" + number + "/task/" + number + "/children").value_or("")};
  std::vector<process_name> result;
  for (pid_t child = 0; in >> child;)
    if (auto start_time = process_start_time(child))
      result.push_back({child, *start_time});
  return result;
}

/// Ends `outer` with its children. It is stopped first: it then neither makes one unseen nor reaps
/// one, whose pid could pass to another process.
os_result<void> end_with_children(process_name outer, child_process* ours,
                                  clock::time_point deadline) {
  auto process = foreign_process::open(outer.pid, outer.start_time);
  if (!process)
    return process.error().number == ESRCH ? os_result<void>{} : tl::unexpected{process.error()};
  static_cast<void>(process->kill(SIGSTOP));
  os_result<void> result;
  for (auto child : children_of(outer.pid))
    if (auto ended = end_process(child, deadline); !ended)
      result = ended;
  if (!ours) {
    auto ended = end_process(outer, deadline);
    return result ? ended : result;
  }
  ours->kill(SIGKILL);
  if (!ours->wait_for(left_until(deadline)))
    return os_failure(ETIMEDOUT, "end process", std::to_string(outer.pid));
  return result;
}

} // namespace

os_result<void> end_processes(process_name outer, process_name guest, child_process* ours,
                              milliseconds limit) {
  auto deadline = clock::now() + limit;
  if (auto ended = end_process(guest, deadline); !ended)
    return ended;
  // bwrap ends by itself when its child has.
  if (ours && guest.pid != 0 && ours->wait_for(std::min(left_until(deadline), milliseconds{500})))
    return {};
  return outer.pid != 0 ? end_with_children(outer, ours, deadline) : os_result<void>{};
}

} // namespace corral::jail
