#include "bench/direct_guests.hpp"

#include "bench/daemon.hpp"
#include "bench/samples.hpp"
#include "messages/wire/owner.hpp"
#include "os/files.hpp"
#include "providers/namespace/backend.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <stdexcept>

namespace corral::bench {

namespace {

constexpr int patience_ms = 30'000;

template <class T>
T value_of(result<T> x) {
  if (!x)
    throw std::runtime_error{x.error().message};
  return std::move(*x);
}

std::unique_ptr<sandbox_backend> open_backend(const std::filesystem::path& build,
                                              const std::filesystem::path& dir) {
  namespace_settings s;
  s.data_dir = dir / "d";
  s.state_dir = dir / "s";
  s.run_dir = dir / "r";
  s.guest = build / "guest/corral-guest";
  s.launch = build / "providers/corral-launch";
  s.probe = build / "providers/corral-probe";
  return value_of(namespace_backend::open(std::move(s)));
}

void wait_readable(const unique_fd& fd) {
  pollfd p{fd.get(), POLLIN, 0};
  if (::poll(&p, 1, patience_ms) != 1)
    throw std::runtime_error{"a guest does not answer"};
}

} // namespace

direct_guests::direct_guests(const std::filesystem::path& build, size_t count)
    : dir_{passable_dir()}, backend_{open_backend(build, dir_.path())} {
  for (size_t i = 0; i < count; ++i) {
    owner who{"default", "direct-" + std::to_string(i)};
    guest x;
    x.id = sandbox_id_of(who);
    connect(x, value_of(backend_->create({x.id, who, false})));
    guests_.push_back(std::move(x));
  }
}

direct_guests::~direct_guests() {
  for (auto& x : guests_)
    (void)backend_->destroy(x.id, true);
}

void direct_guests::connect(guest& x, const endpoint& where) {
  wait_readable(*where.listener);
  x.link.reset(::accept4(where.listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
  receive(x); // Its hello, which is whole: it is small and was written at once.
  fields hello;
  hello.set("op", "hello").set("secret", where.secret).set("limits", fields{});
  (void)write_all(x.link, encode_frame_head(hello.dump(), 0));
}

void direct_guests::start_exec(guest& x) {
  auto header = R"({"op":"exec","parts":[["command",1]],"re":)" + std::to_string(++x.re)
                + R"(,"timeout_ms":600000})";
  (void)write_all(x.link, encode_frame_head(header, 1) + ":");
}

bool direct_guests::receive(guest& x) {
  wait_readable(x.link);
  std::string bytes(4096, '\0');
  auto n = ::read(x.link.get(), bytes.data(), bytes.size());
  if (n <= 0)
    throw std::runtime_error{"a guest has ended"};
  bytes.resize(static_cast<size_t>(n));
  x.decoder.feed(blob::take(std::move(bytes)));
  bool ended = false;
  while (auto got = value_of(x.decoder.next())) {
    if (got->header.flag("ok") == false)
      throw std::runtime_error{"a guest refused: " + got->header.dump()};
    ended = ended || got->header.has("ok");
  }
  return ended;
}

void direct_guests::exec() {
  start_exec(guests_.front());
  while (!receive(guests_.front())) {
  }
}

double direct_guests::throughput(std::chrono::milliseconds duration) {
  std::vector<pollfd> waited;
  for (auto& x : guests_) {
    waited.push_back({x.link.get(), POLLIN, 0});
    start_exec(x);
  }
  size_t ended = 0, open = guests_.size();
  auto began = clock::now();
  auto end = began + duration;
  while (open > 0) {
    if (::poll(waited.data(), waited.size(), patience_ms) <= 0)
      throw std::runtime_error{"no guest answers"};
    for (size_t i = 0; i < guests_.size(); ++i) {
      if (waited[i].revents == 0 || !receive(guests_[i]))
        continue;
      if (clock::now() < end) {
        ++ended;
        start_exec(guests_[i]);
      } else {
        --open;
      }
    }
  }
  return static_cast<double>(ended) / std::chrono::duration<double>(duration).count();
}

} // namespace corral::bench
