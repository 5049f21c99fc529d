// A real bash session in a directory of its own, driven by a loop that waits for conditions.

#pragma once

#include "guest/capture.hpp"
#include "guest/shell_session.hpp"
#include "os/files.hpp"
#include "os/temp_dir.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/prctl.h>

#include <filesystem>
#include <string>

namespace corral::guest::test {

using namespace std::chrono_literals;

/// What a command left behind, with its output.
struct finished : shell_outcome {
  std::string out;
  std::string err;
  uint64_t out_total = 0;
  uint64_t err_total = 0;
  std::optional<errc> failed;

  int code() const { return exit_code.value_or(-1); }
  bool died() const { return reset != session_reset::none; }
};

inline bool is_alive(pid_t pid) {
  auto text = read_small_file("/proc/" + std::to_string(pid) + "/stat");
  auto entry = text ? parse_stat(*text) : std::nullopt;
  return entry && entry->state != 'Z';
}

class session_fixture {
public:
  session_fixture() : dir_{*temp_dir::make("corral-guest-test")}, session{loop, settings()} {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    ::pthread_sigmask(SIG_BLOCK, &child, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    loop.on_child_exit([this] { session.reap(); });
    REQUIRE(session.start());
  }

  session_fixture(const session_fixture&) = delete;
  session_fixture& operator=(const session_fixture&) = delete;

  ~session_fixture() {
    for (auto& x : descendants_of(process_table::read(), ::getpid()))
      ::kill(x.pid, SIGKILL);
  }

  std::string work() const { return dir_.path() / "work"; }
  std::string control() const { return dir_.path() / "control"; }

  void begin(shell_command command) {
    result_ = finished{};
    out_ = err_ = capture{};
    done_ = false;
    session.run(
        std::move(command),
        [this](output_stream s, std::string_view bytes) {
          (s == output_stream::out ? out_ : err_).append(bytes);
        },
        [this](result<shell_outcome> x) {
          if (x)
            static_cast<shell_outcome&>(result_) = *x;
          else
            result_.failed = x.error().code;
          done_ = true;
        });
  }

  finished& end() {
    REQUIRE(wait([this] { return done_ && !session.busy(); }, 60s));
    result_.out = out_.text();
    result_.err = err_.text();
    result_.out_total = out_.total();
    result_.err_total = err_.total();
    return result_;
  }

  finished& run(std::string script, std::chrono::milliseconds timeout = 20s) {
    return run(shell_command{.script = std::move(script), .timeout = timeout});
  }

  finished& run(shell_command command) {
    begin(std::move(command));
    return end();
  }

  finished& run_in(command_scope scope, std::string script) {
    return run(
        shell_command{.script = std::move(script), .scope = std::move(scope), .timeout = 20s});
  }

  bool wait(const std::function<bool()>& done, event_loop::clock::duration limit = 10s) {
    auto end = loop.now() + limit;
    // A file or a process changes without an event, so the loop looks again every few milliseconds.
    while (!done() && loop.now() < end)
      loop.run_until(done, 5ms);
    return done();
  }

  /// Waits until the state of the session as it is now has been written.
  void await_dump(const std::string& text) {
    REQUIRE(wait([&] {
      auto state = read_small_file(control() + "/state.new");
      return state && state->find(text) != std::string::npos && state->ends_with(dump_end);
    }));
  }

  bool has_output(std::string_view text) const {
    return out_.text().find(text) != std::string::npos;
  }

private:
  shell_settings settings() {
    std::filesystem::create_directory(work());
    shell_settings x;
    x.control = control();
    x.workspace = work();
    x.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + work(), "LANG=C.UTF-8",
                     "PYTHONUNBUFFERED=1"};
    return x;
  }

  temp_dir dir_;
  finished result_;
  capture out_;
  capture err_;
  bool done_ = false;

public:
  event_loop loop;
  shell_session session;
};

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace corral::guest::test
