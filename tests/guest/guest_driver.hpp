// The daemon's end of the link to a real corral-guest, in a directory of its own.

#pragma once

#include "guest/process_table.hpp"
#include "messages/wire/frame.hpp"
#include "os/child_process.hpp"
#include "os/files.hpp"
#include "os/socket.hpp"
#include "os/temp_dir.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace corral::guest::test {

using namespace std::chrono_literals;

class guest_driver {
public:
  static constexpr const char* secret = "0123456789abcdef0123456789abcdef";

  /// Starts a guest that dials our socket, and accepts it without a word.
  explicit guest_driver(std::vector<std::string> more = {})
      : dir_{*temp_dir::make("corral-guest-program")} {
    std::filesystem::create_directory(work());
    listener_ = std::move(*listen_unix(dir_.path() / "socket", 0600));
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    unique_fd read{ends[0]}, write{ends[1]};
    REQUIRE(::write(write.get(), secret, 32) == 32);
    write.reset();
    spawn_options options;
    options.argv = {CORRAL_GUEST_PROGRAM,
                    "--socket",
                    dir_.path() / "socket",
                    "--id",
                    "box",
                    "--shell-dir",
                    dir_.path() / "control",
                    "--workspace",
                    work(),
                    "--secret-fd",
                    "5"};
    options.argv.insert(options.argv.end(), more.begin(), more.end());
    options.environment = {"PATH=/usr/bin:/bin", "HOME=" + work()};
    options.descriptors = {{read.get(), 5}};
    program_.emplace(std::move(*child_process::spawn(options)));
    accept();
  }

  guest_driver(const guest_driver&) = delete;
  guest_driver& operator=(const guest_driver&) = delete;

  /// A shell that sees its guest's end still writes to the directory, which must go.
  ~guest_driver() {
    program_.reset();
    while (kill_the_rest())
      ::poll(nullptr, 0, 1);
  }

  std::string work() const { return dir_.path() / "work"; }
  pid_t pid() const { return program_->pid(); }

  void accept() {
    pollfd p{listener_.get(), POLLIN, 0};
    REQUIRE(::poll(&p, 1, 10'000) == 1);
    link_.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    decoder_ = {};
    replies_.clear();
    assemblers_.clear();
    hello = receive();
  }

  void greet(std::string_view proof = secret, fields limits = {}) {
    send(fields{}.set("op", "hello").set("secret", proof).set("limits", limits));
  }

  void drop() { link_.reset(); }

  void send(const fields& header, std::string_view payload = {}) {
    send_bytes(encode_frame_head(header.dump(), payload.size()) + std::string{payload});
  }

  void send_bytes(std::string bytes) {
    for (size_t done = 0; done < bytes.size();) {
      auto n = ::send(link_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      REQUIRE(n > 0);
      done += static_cast<size_t>(n);
    }
  }

  /// Sends a request whatever its size, as far as the guest grants credit.
  int64_t request(message x) {
    auto re = ++last_re_;
    frame_sender sender{re, x};
    while (!sender.done()) {
      if (auto next = sender.next())
        send_bytes(next->first + std::string{next->second.view()});
      else if (auto f = take_frame(); f.header.text("op") == "credit")
        sender.grant(static_cast<uint64_t>(f.header.integer("bytes").value()));
    }
    return re;
  }

  int64_t exec(std::string_view command, fields more = {}, std::optional<std::string> input = {}) {
    message x;
    x.header = more.set("op", "exec");
    x.add_part("command", blob::copy_of(command));
    if (input)
      x.add_part("stdin", blob::copy_of(*input));
    return request(std::move(x));
  }

  /// The next whole event or reply for `re`; others are kept.
  message next(int64_t re) {
    while (replies_[re].empty()) {
      auto f = take_frame();
      auto of = f.header.integer("re").value_or(0);
      auto more = has_more(f.header);
      auto size = f.payload.size();
      auto whole = assemblers_[of].add(std::move(f));
      REQUIRE(whole);
      if (more)
        send_bytes(encode_credit(of, size));
      if (*whole) {
        assemblers_.erase(of);
        replies_[of].push_back(std::move(**whole));
      }
    }
    auto first = std::move(replies_[re].front());
    replies_[re].erase(replies_[re].begin());
    return first;
  }

  /// The final reply; events before it are collected.
  message reply(int64_t re) {
    for (;;) {
      auto x = next(re);
      if (x.header.has("ok"))
        return x;
      events.push_back(std::move(x));
    }
  }

  message run(std::string_view command, fields more = {}) { return reply(exec(command, more)); }

  /// True once the guest has closed the connection.
  bool is_closed() {
    char byte;
    pollfd p{link_.get(), POLLIN, 0};
    return ::poll(&p, 1, 10'000) == 1 && ::recv(link_.get(), &byte, 1, 0) <= 0;
  }

  std::optional<int> wait_for_end() { return program_->wait_for(10s); }

  fields hello;
  std::vector<message> events;

private:
  frame take_frame() {
    for (;;) {
      auto next = decoder_.next();
      REQUIRE(next);
      if (*next)
        return std::move(**next);
      char bytes[65536];
      pollfd p{link_.get(), POLLIN, 0};
      REQUIRE(::poll(&p, 1, 20'000) == 1);
      auto n = ::recv(link_.get(), bytes, sizeof bytes, 0);
      REQUIRE(n > 0);
      decoder_.feed(blob::copy_of({bytes, static_cast<size_t>(n)}));
    }
  }

  fields receive() { return take_frame().header; }

  /// True if there was any: what the guest started has its HOME.
  bool kill_the_rest() const {
    auto mine = "HOME=" + work() + '\0';
    auto found = false;
    auto table = process_table::read();
    for (auto& [pid, x] : table.all()) {
      auto environment = read_small_file("/proc/" + std::to_string(pid) + "/environ");
      if (x.state == 'Z' || !environment || environment->find(mine) == std::string::npos)
        continue;
      ::kill(pid, SIGKILL);
      found = true;
    }
    return found;
  }

  temp_dir dir_;
  unique_fd listener_;
  unique_fd link_;
  frame_decoder decoder_;
  std::map<int64_t, std::vector<message>> replies_;
  std::map<int64_t, frame_assembler> assemblers_;
  int64_t last_re_ = 0;
  std::optional<child_process> program_;
};

inline std::string text_of(const message& x, std::string_view part) {
  return std::string{x.part_of(part).view()};
}

inline std::string error_of(const message& x) {
  auto error = x.header.object("error");
  return error ? error->text("code").value_or("") : "";
}

} // namespace corral::guest::test
