#include "bench/context.hpp"

namespace corral::bench {

std::vector<row> measure_exec(context& x) {
  daemon corrald{x.build(), {}};
  auto header = exec_header(corrald.acquire("bench"), 1);
  dealer client{x.zmq(), corrald.endpoint()};
  auto first = client.ask(header, ":");
  frame_sizes sizes{header.size(), 1, first.header.size(), first.payload.size()};
  return x.in_both_loads("exec of a builtin", "us", limit_kind::at_most, 4, [&] {
    return by_turns(
        x.scaled(1000), [&] { x.echo().exchange(sizes); }, [&] { client.ask(header, ":"); });
  });
}

} // namespace corral::bench
