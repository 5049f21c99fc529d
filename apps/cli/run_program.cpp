#include "apps/cli/run_program.hpp"

#include "os/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

namespace corral::cli {

namespace {

using clock = std::chrono::steady_clock;

constexpr size_t max_output = 64 * 1024;

std::string read_until(const unique_fd& from, clock::time_point end) {
  std::string result;
  for (char buffer[4096]; result.size() < max_output;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
    pollfd p{from.get(), POLLIN, 0};
    if (::poll(&p, 1, static_cast<int>(std::max<int64_t>(left.count(), 0))) <= 0)
      break;
    auto n = ::read(from.get(), buffer, sizeof buffer);
    if (n <= 0)
      break;
    result.append(buffer, static_cast<size_t>(n));
  }
  return result;
}

int to_status(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

} // namespace

os_result<program_end> run_program(const std::vector<std::string>& argv,
                                   std::chrono::milliseconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return last_os_error("pipe");
  unique_fd read{ends[0]};
  unique_fd write{ends[1]};
  spawn_options options;
  options.argv = argv;
  options.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"};
  options.descriptors = {{write.get(), 1}, {write.get(), 2}};
  auto child = child_process::spawn(options);
  if (!child)
    return tl::unexpected{child.error()};
  write.reset();
  auto end = clock::now() + limit;
  program_end result;
  result.output = read_until(read, end);
  auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
  if (auto status = child->wait_for(std::max(left, std::chrono::milliseconds::zero())))
    result.status = to_status(*status);
  return result;
}

} // namespace corral::cli
