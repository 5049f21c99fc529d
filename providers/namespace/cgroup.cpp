#include "providers/namespace/cgroup.hpp"

#include "messages/wire/owner.hpp"
#include "os/files.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <sstream>
#include <thread>

namespace corral::jail {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto cpu_period_us = 100'000;

std::vector<pid_t> processes_in(const fs::path& cgroup) {
  std::vector<pid_t> result;
  std::istringstream in{read_small_file(cgroup / "cgroup.procs").value_or("")};
  for (pid_t pid = 0; in >> pid;)
    result.push_back(pid);
  return result;
}

/// A number in a file of "name value" lines, or the file's only number where `name` is empty.
uint64_t number_in(const fs::path& file, std::string_view name = {}) {
  std::istringstream in{read_small_file(file).value_or("")};
  uint64_t value = 0;
  if (name.empty())
    return in >> value ? value : 0;
  for (std::string word; in >> word;)
    if (word == name)
      return in >> value ? value : 0;
  return 0;
}

void kill_all_in(const fs::path& cgroup) {
  if (write_knob(cgroup / "cgroup.kill", "1"))
    return;
  for (auto pid : processes_in(cgroup)) {
    unique_fd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
    // Looked up again behind the descriptor: a pid that was reused meanwhile isn't in here.
    auto still = processes_in(cgroup);
    if (process && std::find(still.begin(), still.end(), pid) != still.end())
      ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  }
}

os_result<void> remove_one(const fs::path& cgroup, std::chrono::steady_clock::time_point deadline) {
  for (auto pause = 1ms;; pause = std::min(pause * 2, 50ms)) {
    if (::rmdir(cgroup.c_str()) == 0 || errno == ENOENT)
      return {};
    if (errno != EBUSY || std::chrono::steady_clock::now() >= deadline)
      return last_os_error("remove cgroup", cgroup.native());
    kill_all_in(cgroup);
    std::this_thread::sleep_for(pause);
  }
}

} // namespace

cgroup_tree::cgroup_tree(std::vector<cgroup_root> roots,
                         const namespace_settings::limit_set& limits)
    : roots_{std::move(roots)}, limits_{limits} {
  // Joining a cgroup costs up to 20 ms now and then: not one more than a limit needs.
  auto unlimited = [&](auto& root) { return root.controller == "cpu" && limits_.cpus <= 0; };
  roots_.erase(std::remove_if(roots_.begin(), roots_.end(), unlimited), roots_.end());
}

std::vector<fs::path> cgroup_tree::parents() const {
  std::vector<fs::path> result;
  for (auto& root : roots_)
    if (std::find(result.begin(), result.end(), root.parent) == result.end())
      result.push_back(root.parent);
  return result;
}

/// A thread that moves itself through version 1's `tasks` skips a lock of all forks, for which
/// `cgroup.procs` waits up to 20 ms; corral-launch has one thread, so both move all of it.
const char* cgroup_tree::join_file(const fs::path& parent) const {
  for (auto& root : roots_)
    if (root.parent == parent && root.version == 1)
      return "tasks";
  return "cgroup.procs";
}

const cgroup_root* cgroup_tree::find(std::string_view controller) const {
  for (auto& root : roots_)
    if (root.controller == controller)
      return &root;
  return nullptr;
}

os_result<std::vector<unique_fd>> cgroup_tree::make(const std::string& id) const {
  std::vector<unique_fd> result;
  auto undo = [&](os_error why) {
    static_cast<void>(remove(id, 1s));
    return tl::unexpected{std::move(why)};
  };
  for (auto& parent : parents()) {
    auto path = parent / id;
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
      return undo(last_os_error("make cgroup", path.native()).value());
    auto door = path / join_file(parent);
    unique_fd fd{::open(door.c_str(), O_WRONLY | O_CLOEXEC)};
    if (!fd)
      return undo(last_os_error("open", door.native()).value());
    result.push_back(std::move(fd));
  }
  if (auto done = set_limits(id); !done)
    return undo(std::move(done.error()));
  return result;
}

os_result<void> cgroup_tree::set_limits(const std::string& id) const {
  os_result<void> result;
  auto set = [&](const cgroup_root& root, const char* knob, const std::string& value) {
    if (result)
      result = write_knob(root.parent / id / knob, value);
  };
  if (auto memory = find("memory"); memory && limits_.memory > 0) {
    auto bytes = std::to_string(limits_.memory);
    set(*memory, memory->version == 2 ? "memory.max" : "memory.limit_in_bytes", bytes);
    // Swap would multiply the limit; machines without the knob have none to give.
    static_cast<void>(memory->version == 2
                          ? write_knob(memory->parent / id / "memory.swap.max", "0")
                          : write_knob(memory->parent / id / "memory.memsw.limit_in_bytes", bytes));
  }
  if (auto pids = find("pids"); pids && limits_.pids > 0)
    set(*pids, "pids.max", std::to_string(limits_.pids));
  if (auto cpu = find("cpu")) {
    auto quota = std::to_string(std::llround(limits_.cpus * cpu_period_us));
    auto period = std::to_string(cpu_period_us);
    if (cpu->version == 2)
      set(*cpu, "cpu.max", quota + " " + period);
    else
      set(*cpu, "cpu.cfs_quota_us", quota);
  }
  return result;
}

os_result<void> cgroup_tree::remove(const std::string& id, std::chrono::milliseconds limit) const {
  auto deadline = std::chrono::steady_clock::now() + limit;
  os_result<void> result;
  for (auto& parent : parents())
    if (auto removed = remove_one(parent / id, deadline); !removed)
      result = std::move(removed);
  return result;
}

std::vector<std::string> cgroup_tree::ids() const {
  std::vector<std::string> result;
  for (auto& parent : parents()) {
    std::error_code ignored;
    for (fs::directory_iterator i{parent, ignored}, end; i != end; i.increment(ignored))
      if (auto name = i->path().filename().native(); is_sandbox_id(name))
        result.push_back(name);
  }
  return result;
}

bool cgroup_tree::holds(const std::string& id, std::string_view proc_cgroup) const {
  // The parents have one name; each hierarchy has a line of its own.
  auto all = parents();
  if (all.empty())
    return true;
  auto path = "/" + all.front().filename().native() + "/" + id + "\n";
  size_t found = 0;
  for (auto at = proc_cgroup.find(path); at != proc_cgroup.npos;
       at = proc_cgroup.find(path, at + 1))
    ++found;
  return found == all.size();
}

void cgroup_tree::remove_parents() const {
  for (auto& parent : parents())
    ::rmdir(parent.c_str());
}

std::optional<memory_counters> cgroup_tree::memory_events(const std::string& id) const {
  auto memory = find("memory");
  if (!memory)
    return std::nullopt;
  auto path = memory->parent / id;
  if (memory->version == 2)
    return memory_counters{number_in(path / "memory.events", "oom_kill"),
                           number_in(path / "memory.max"), number_in(path / "memory.peak")};
  return memory_counters{number_in(path / "memory.oom_control", "oom_kill"),
                         number_in(path / "memory.limit_in_bytes"),
                         number_in(path / "memory.max_usage_in_bytes")};
}

std::vector<std::string> cgroup_tree::warnings() const {
  std::vector<std::string> result;
  auto check = [&](const char* controller, const char* limit, bool wanted) {
    if (wanted && !find(controller))
      result.push_back("the cgroup controller '" + std::string{controller}
                       + "' isn't writable here: limits." + limit + " isn't enforced");
  };
  check("memory", "memory", limits_.memory > 0);
  check("pids", "pids", limits_.pids > 0);
  check("cpu", "cpus", limits_.cpus > 0);
  return result;
}

} // namespace corral::jail
