#include "bench/bwrap_baseline.hpp"
#include "bench/context.hpp"

namespace corral::bench {

std::vector<row> measure_create(context& x) {
  daemon corrald{x.build(), {}};
  bwrap_baseline bwrap;
  dealer client{x.zmq(), corrald.endpoint()};
  size_t threads = 0;
  std::string id;
  auto create = [&] {
    auto thread = "created-" + std::to_string(++threads);
    auto got = client.ask(R"({"op":"acquire","id":"1","thread":")" + thread + "\"}");
    id = got.string("sandbox");
    if (got.string("origin") != "created")
      throw std::runtime_error{"not created but " + got.string("origin")};
    client.ask(exec_header(id, 4), "true");
  };
  return x.in_both_loads("create + first true", "us", limit_kind::at_most, 2, [&] {
    samples alone, measured;
    for (size_t i = 0; i < x.scaled(50); ++i) {
      alone.push_back(time_of([&] { bwrap.run(); }));
      measured.push_back(time_of(create));
      corrald.destroy(id);
    }
    return pair{median(alone), median(measured)};
  });
}

} // namespace corral::bench
