#include "bench/daemon.hpp"

#include "os/files.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <stdexcept>
#include <thread>

namespace corral::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto start_limit = 60s;
constexpr auto stop_limit = 60s;

child_process start(const std::filesystem::path& build, const std::filesystem::path& dir,
                    const std::vector<std::string>& options) {
  unique_fd log{::open((dir / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
  spawn_options spawn;
  spawn.argv = {(build / "apps/corrald").native()};
  for (auto& [name, part] : {std::pair{"data_dir", "d"}, {"state_dir", "s"}, {"run_dir", "r"}})
    spawn.argv.insert(spawn.argv.end(), {"--set", std::string{name} + "=" + (dir / part).native()});
  for (auto& x : options)
    spawn.argv.insert(spawn.argv.end(), {"--set", x});
  spawn.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent"};
  spawn.descriptors = {{log.get(), 1}, {log.get(), 2}};
  auto x = child_process::spawn(spawn);
  if (!x)
    throw std::runtime_error{x.error().what};
  return std::move(*x);
}

} // namespace

temp_dir passable_dir() {
  auto x = temp_dir::make("corral-bench-", "/tmp"); // Short: sockets live in it.
  if (!x || ::chmod(x->path().c_str(), 0711) != 0)
    throw std::runtime_error{"cannot make a directory in /tmp"};
  return std::move(*x);
}

daemon::daemon(const std::filesystem::path& build, const std::vector<std::string>& options)
    : dir_{passable_dir()}, process_{start(build, dir_.path(), options)} {
  for (auto end = std::chrono::steady_clock::now() + start_limit;;) {
    auto x = cli::daemon_client::connect({endpoint()});
    if (x) {
      client_.emplace(std::move(*x));
      return;
    }
    if (std::chrono::steady_clock::now() > end || process_.wait_for(20ms))
      throw std::runtime_error{"corrald does not serve: " + x.error().message + "\n" + log_tail()};
  }
}

daemon::~daemon() {
  process_.kill(SIGTERM);
  process_.wait_for(stop_limit);
}

std::string daemon::log_tail() const {
  auto text = read_small_file(dir_.path() / "log").value_or("");
  constexpr size_t shown = 2000;
  return text.size() > shown ? text.substr(text.size() - shown) : text;
}

message daemon::call(message request) {
  auto reply = client_->call(std::move(request));
  if (!reply)
    throw std::runtime_error{reply.error().code + ": " + reply.error().message + "\n" + log_tail()};
  return std::move(*reply);
}

std::string daemon::acquire(const std::string& thread) {
  message r;
  r.header.set("op", "acquire").set("thread", thread);
  return call(std::move(r)).header.text("sandbox").value_or("");
}

void daemon::run(const std::string& sandbox, const std::string& script) {
  message r;
  r.header.set("op", "exec").set("sandbox", sandbox);
  r.add_part("command", blob::copy_of(script));
  auto reply = call(std::move(r));
  if (reply.header.integer("exit_code") != 0)
    throw std::runtime_error{"a script failed: " + script + "\n"
                             + std::string{reply.part_of("output").view()}};
}

void daemon::destroy(const std::string& sandbox) {
  message r;
  r.header.set("op", "destroy").set("sandbox", sandbox).set("force", true).set("purge", true);
  call(std::move(r));
}

} // namespace corral::bench
