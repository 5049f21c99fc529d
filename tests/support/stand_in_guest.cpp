// A stand-in for corral-guest that knows nothing but commands: it dials, says its secret, then runs
// each line it is sent with bash and answers with the output, a NUL and the exit status in a line.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

std::string read_all(int fd) {
  std::string result;
  char chunk[4096];
  for (ssize_t n = 0; (n = ::read(fd, chunk, sizeof chunk)) > 0;)
    result.append(chunk, static_cast<size_t>(n));
  return result;
}

void write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    auto n = ::write(fd, text.data() + done, text.size() - done);
    if (n <= 0)
      return;
    done += static_cast<size_t>(n);
  }
}

int dial(const std::string& path) {
  auto fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    std::_Exit(3);
  return fd;
}

/// Runs a command to its end; what it leaves in the background lives on.
std::string run(const std::string& bash, const std::string& command) {
  int output[2];
  if (::pipe2(output, O_CLOEXEC) != 0)
    return {};
  auto pid = ::fork();
  if (pid == 0) {
    ::dup2(output[1], 1);
    ::dup2(output[1], 2);
    ::signal(SIGPIPE, SIG_DFL);
    ::execl(bash.c_str(), "bash", "-c", command.c_str(), nullptr);
    std::_Exit(127);
  }
  ::close(output[1]);
  auto text = pid > 0 ? read_all(output[0]) : "fork failed";
  ::close(output[0]);
  int status = 0;
  // Others may end first: the init of a pid namespace inherits orphans.
  for (pid_t ended = 0; pid > 0 && ended != pid;)
    ended = ::waitpid(-1, &status, 0);
  auto code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return text + '\0' + std::to_string(code) + "\n";
}

} // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < argc; i += 2)
    options[argv[i]] = argv[i + 1];
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_DUMPABLE, 0);
  auto secret_fd = std::atoi(options["--secret-fd"].c_str());
  auto uploads_fd = std::atoi(options["--uploads-fd"].c_str());
  auto secret = read_all(secret_fd);
  ::close(secret_fd);
  ::fcntl(uploads_fd, F_SETFD, FD_CLOEXEC);
  if (options.count("--fail"))
    std::_Exit(9);
  auto link = dial(options["--socket"]);
  write_all(link, secret + "\n");
  if (auto upload = ::openat(uploads_fd, "from-guest", O_CREAT | O_WRONLY | O_CLOEXEC, 0640);
      upload >= 0)
    ::close(upload);
  std::string line;
  for (char c = 0; ::read(link, &c, 1) == 1;) {
    if (c != '\n') {
      line += c;
      continue;
    }
    write_all(link, run(options["--bash"], line));
    line.clear();
  }
  // The daemon is gone. A guest outlives that.
  for (;;)
    ::pause();
}
