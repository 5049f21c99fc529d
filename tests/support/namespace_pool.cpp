#include "tests/support/namespace_pool.hpp"

#include "os/files.hpp"
#include "os/random.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

namespace corral::test {

guest_driver::guest_driver(const endpoint& at)
    : link_{::accept4(at.listener->get(), nullptr, nullptr, SOCK_CLOEXEC)} {
  REQUIRE(link_);
  CHECK(read_until('\n') == at.secret);
}

outcome guest_driver::run(const std::string& command) {
  REQUIRE(write_all(link_, command + "\n"));
  outcome result;
  result.output = read_until('\0');
  result.status = std::stoi(read_until('\n'));
  return result;
}

std::string guest_driver::read_until(char end) {
  for (;;) {
    if (auto at = buffer_.find(end); at != buffer_.npos) {
      auto result = buffer_.substr(0, at);
      buffer_.erase(0, at + 1);
      return result;
    }
    pollfd p{link_.get(), POLLIN, 0};
    char chunk[4096];
    auto ready = ::poll(&p, 1, 30'000) == 1;
    auto n = ready ? ::read(link_.get(), chunk, sizeof chunk) : 0;
    if (n <= 0)
      throw std::runtime_error{"the guest doesn't answer"};
    buffer_.append(chunk, static_cast<size_t>(n));
  }
}

namespace_pool::namespace_pool() : directory_{temp_dir::make("corral-test-").value()} {
  // Owners' uids pass through it.
  REQUIRE(::chmod(directory_.path().c_str(), 0711) == 0);
}

namespace_settings namespace_pool::settings() const {
  namespace_settings s;
  s.data_dir = path() / "data";
  s.state_dir = path() / "state";
  s.run_dir = path() / "run";
  s.first_uid = 640'000;
  s.last_uid = 640'999;
  s.limits.memory = 256ull << 20;
  s.limits.pids = 64;
  s.limits.tmp_size = s.limits.home_size = s.limits.shm_size = 8ull << 20;
  s.limits.run_size = 1ull << 20;
  s.guest = CORRAL_TEST_GUEST;
  s.launch = CORRAL_LAUNCH;
  s.probe = CORRAL_PROBE;
  s.report = [](std::string_view cause) { std::printf("reported: %s\n", cause.data()); };
  return s;
}

std::unique_ptr<namespace_backend> namespace_pool::open(namespace_settings settings) const {
  auto backend = namespace_backend::open(std::move(settings));
  if (!backend)
    throw std::runtime_error{backend.error().message};
  return std::move(*backend);
}

const std::string& this_user() {
  static const std::string name = "user-" + random_hex(4);
  return name;
}

sandbox_spec spec_of(const std::string& thread, const std::string& user) {
  owner who{user, thread};
  return {sandbox_id_of(who), who, false};
}

} // namespace corral::test
