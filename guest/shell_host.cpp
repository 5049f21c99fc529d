#include "guest/shell_host.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>

namespace corral::guest {

namespace {

struct pipe_ends {
  unique_fd read, write;
};

os_result<pipe_ends> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return last_os_error("make pipe");
  return pipe_ends{unique_fd{fds[0]}, unique_fd{fds[1]}};
}

/// Ours only: each end of a pipe has flags of its own.
void set_nonblocking(const unique_fd& fd) {
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
}

} // namespace

shell_host::shell_host(event_loop& loop, shell_settings settings, callbacks calls)
    : loop_{loop}, settings_{std::move(settings)}, calls_{std::move(calls)},
      files_{settings_.control} {}

result<session_reset> shell_host::start(bool restore, const std::optional<std::string>& directory) {
  if (!restore)
    files_.forget_state();
  auto found = restore && files_.has_state();
  auto made = files_.create();
  if (made)
    made = spawn();
  if (!made)
    return failure(errc::sandbox_runtime, "the sandbox's shell can't be started",
                   fields{}.set("step", "shell"));
  ++session_;
  send(first_line(files_.paths(), found, directory));
  return found ? session_reset::restored : session_reset::initial;
}

os_result<void> shell_host::spawn() {
  auto control = make_pipe();
  auto status = make_pipe();
  if (!control || !status)
    return os_failure(EMFILE, "make pipe");
  spawn_options options;
  options.environment = settings_.environment;
  options.descriptors = {{control->read.get(), 0}, {status->write.get(), 1}};
  options.new_session = true;
  os_result<child_process> child = os_failure(ENOENT, "start shell");
  for (auto& program : settings_.programs) {
    options.argv = {program, "--norc", "--noprofile", "--noediting", "-i"};
    for (auto& directory : {settings_.workspace, std::string{"/"}}) {
      options.directory = directory;
      if (!child)
        child = child_process::spawn(options);
    }
  }
  if (!child)
    return tl::unexpected{child.error()};
  if (settings_.descriptor_limit)
    ::prlimit(child->pid(), RLIMIT_NOFILE, &*settings_.descriptor_limit, nullptr);
  process_.emplace(std::move(*child));
  control_ = std::move(control->write);
  set_nonblocking(control_);
  status_watch_.reset();
  status_ = std::move(status->read);
  set_nonblocking(status_);
  status_watch_ = loop_.watch_fd(status_, EPOLLIN, [this](uint32_t) { read_status(); });
  return {};
}

void shell_host::send(std::string_view lines) {
  [[maybe_unused]] auto n = ::write(control_.get(), lines.data(), lines.size());
}

bool shell_host::input_consumed() const {
  // Without a reader the shell has become another program, whose end is waited for.
  pollfd reader{control_.get(), 0, 0};
  if (::poll(&reader, 1, 0) > 0)
    return false;
  int left = 0;
  return ::ioctl(control_.get(), FIONREAD, &left) == 0 && left == 0;
}

void shell_host::signal(int number) {
  if (process_)
    process_->kill(number);
}

void shell_host::drop() {
  process_.reset();
  status_watch_.reset();
}

bool shell_host::read_status() {
  std::array<char, 4096> buffer;
  auto n = ::read(status_.get(), buffer.data(), buffer.size());
  if (n > 0)
    calls_.on_status({buffer.data(), static_cast<size_t>(n)});
  else if (n == 0 || (errno != EAGAIN && errno != EINTR))
    status_watch_.reset(); // All writers are gone: the shell's end is reported by its exit.
  return n > 0;
}

void shell_host::reap() {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
      return;
    if (info.si_pid != pid()) {
      ::waitpid(info.si_pid, nullptr, WNOHANG);
      continue;
    }
    auto status = process_->wait_for(std::chrono::milliseconds{0});
    // A report that it still made counts before its end. Bounded: agent code may write there too.
    for (int reads = 0; reads < 64 && read_status(); ++reads) {
    }
    process_.reset();
    calls_.on_end(status.value_or(0));
  }
}

} // namespace corral::guest
