#include "providers/namespace/launcher.hpp"

#include "messages/wire/fields.hpp"
#include "os/files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace corral::jail {

namespace {

using clock = std::chrono::steady_clock;

/// Waits until `a` (or `b`, if given) is readable; 0 in time for neither, else 1 for a and 2 for b.
int wait_readable(int a, int b, clock::time_point deadline) {
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
    pollfd fds[] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
    auto n = ::poll(fds, 2, static_cast<int>(std::max<int64_t>(left, 0)));
    if (n > 0)
      return fds[0].revents ? 1 : 2;
    if (n == 0 || errno != EINTR)
      return 0;
  }
}

os_result<unique_fd> options_in_memory(const std::vector<std::string>& options) {
  std::string text;
  for (auto& option : options)
    text.append(option).push_back('\0');
  unique_fd memory{::memfd_create("corral-options", MFD_CLOEXEC)};
  if (!memory)
    return last_os_error("make memory for options");
  if (auto written = write_all(memory, text); !written)
    return tl::unexpected{written.error()};
  ::lseek(memory.get(), 0, SEEK_SET);
  return memory;
}

std::vector<std::string> limits_of(const namespace_settings::limit_set& limits) {
  std::vector<std::string> result{"--limit", "core=" + std::to_string(limits.core)};
  auto add = [&](const char* name, uint64_t value) {
    if (value > 0)
      result.insert(result.end(), {"--limit", name + ("=" + std::to_string(value))});
  };
  add("file_size", limits.file_size);
  add("open_files", limits.open_files);
  return result;
}

/// The command line of corral-launch. `plan.passed` grows by what corral-launch uses up itself; it
/// closes everything above `last`.
std::vector<std::string> command_line(const namespace_settings& settings, launch_plan& plan,
                                      const unique_fd& options, const unique_fd& go) {
  auto options_fd = plan.passed.pass(options);
  auto last = plan.passed.last();
  std::vector<std::string> result{settings.launch.native()};
  auto add = [&](std::vector<std::string> words) {
    result.insert(result.end(), words.begin(), words.end());
  };
  for (auto& cgroup : plan.cgroups)
    add({"--join", std::to_string(plan.passed.pass(cgroup))});
  add(limits_of(settings.limits));
  if (plan.uid)
    add({"--ids", std::to_string(*plan.uid)});
  add({"--go", std::to_string(plan.passed.pass(go)), "--last", std::to_string(last)});
  add({"--", settings.bwrap.native(), "--args", std::to_string(options_fd), "--"});
  add(plan.command);
  return result;
}

} // namespace

os_result<pipe_ends> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return last_os_error("make pipe");
  return pipe_ends{unique_fd{fds[0]}, unique_fd{fds[1]}};
}

os_result<launcher> launcher::start(const namespace_settings& settings, launch_plan plan) {
  auto options = options_in_memory(plan.options);
  auto go = make_pipe();
  auto complaints = make_pipe();
  if (!options || !go || !complaints)
    return last_os_error("prepare start");
  ::fcntl(complaints->read.get(), F_SETFL, O_NONBLOCK);
  plan.passed.pass_as(complaints->write, 2);
  spawn_options spawn;
  spawn.argv = command_line(settings, plan, *options, go->read);
  spawn.descriptors = plan.passed.list();
  auto process = child_process::spawn(spawn);
  if (!process)
    return tl::unexpected{process.error()};
  auto start_time = process_start_time(process->pid());
  if (!start_time)
    return tl::unexpected{start_time.error()};
  process_name outer{process->pid(), *start_time};
  return launcher{std::move(*process), outer, std::move(go->write), std::move(plan.status.read),
                  std::move(complaints->read)};
}

os_result<process_name> launcher::go(clock::time_point deadline) {
  // SIGPIPE is ignored by the daemon; a launcher that has died shows as the end of its status.
  static_cast<void>(write_all(go_, "!"));
  go_.reset();
  std::string line;
  while (line.find('\n') == line.npos) {
    char chunk[512];
    if (!wait_readable(status_.get(), -1, deadline))
      return failed(ETIMEDOUT, "wait for bubblewrap");
    auto n = ::read(status_.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0 || line.size() > 4096)
      return failed(0, "start bubblewrap");
    line.append(chunk, static_cast<size_t>(n));
  }
  auto status = fields::parse(line.substr(0, line.find('\n')));
  auto pid = status ? status->integer("child-pid") : std::nullopt;
  if (!pid || *pid <= 1)
    return failed(0, "start bubblewrap");
  auto start_time = process_start_time(static_cast<pid_t>(*pid));
  if (!start_time)
    return failed(0, "start in the sandbox");
  return process_name{static_cast<pid_t>(*pid), *start_time};
}

os_result<void> launcher::wait_for_dial(const unique_fd& listener, clock::time_point deadline) {
  switch (wait_readable(listener.get(), process_.pidfd().get(), deadline)) {
  case 1:
    return {};
  case 2:
    return failed(0, "start in the sandbox");
  default:
    return failed(ETIMEDOUT, "wait for the sandbox's program to dial");
  }
}

tl::unexpected<os_error> launcher::failed(int number, std::string_view what) {
  char text[2048];
  // Give what it writes on its way out a moment: an error without a cause helps nobody.
  process_.wait_for(std::chrono::milliseconds{200});
  auto n = ::read(complaints_.get(), text, sizeof text);
  return os_failure(number, what,
                    n > 0 ? std::string{text, static_cast<size_t>(n)} : std::string{});
}

} // namespace corral::jail
