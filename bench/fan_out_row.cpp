#include "bench/context.hpp"
#include "bench/direct_guests.hpp"

namespace corral::bench {

namespace {

constexpr size_t clients = 32;

/// A client to each sandbox, each with one exec under way for so long; execs a second.
class fan_out {
public:
  fan_out(context& x, daemon& corrald) {
    for (size_t i = 0; i < clients; ++i) {
      headers_.push_back(exec_header(corrald.acquire("bench-" + std::to_string(i)), 1));
      dealers_.emplace_back(x.zmq(), corrald.endpoint());
      dealers_.back().ask(headers_.back(), ":");
    }
  }

  double throughput(std::chrono::milliseconds duration) {
    std::vector<zmq::pollitem_t> waited;
    for (size_t i = 0; i < clients; ++i) {
      waited.push_back({dealers_[i].socket().handle(), 0, ZMQ_POLLIN, 0});
      dealers_[i].send(headers_[i], ":");
    }
    size_t ended = 0, open = clients;
    auto end = clock::now() + duration;
    while (open > 0) {
      zmq::poll(waited, std::chrono::seconds{30});
      for (size_t i = 0; i < clients; ++i) {
        if (waited[i].revents == 0)
          continue;
        if (!dealers_[i].receive().is_ok())
          throw std::runtime_error{"an exec failed"};
        if (clock::now() < end) {
          ++ended;
          dealers_[i].send(headers_[i], ":");
        } else {
          --open;
        }
      }
    }
    return static_cast<double>(ended) / std::chrono::duration<double>(duration).count();
  }

private:
  std::vector<dealer> dealers_;
  std::vector<std::string> headers_;
};

} // namespace

std::vector<row> measure_fan_out(context& x) {
  daemon corrald{x.build(), {}};
  fan_out through{x, corrald};
  direct_guests direct{x.build(), clients};
  std::chrono::milliseconds duration{x.scaled(2000)};
  return x.in_both_loads("32 clients, 32 sandboxes", "execs/s", limit_kind::at_least, 0.5, [&] {
    auto alone = direct.throughput(duration);
    return pair{alone, through.throughput(duration)};
  });
}

} // namespace corral::bench
