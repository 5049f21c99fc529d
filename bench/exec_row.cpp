#include "bench/context.hpp"
#include "bench/direct_guests.hpp"

namespace corral::bench {

std::vector<row> measure_exec(context& x) {
  daemon corrald{x.build(), {}};
  auto header = exec_header(corrald.acquire("bench"), 1);
  dealer client{x.zmq(), corrald.endpoint()};
  auto first = client.ask(header, ":");
  frame_sizes sizes{header.size(), 1, first.header.size(), first.payload.size()};
  auto echo = [&] { x.echo().exchange(sizes); };
  auto rows = x.in_both_loads("exec of a builtin", "us", limit_kind::at_most, 4, [&] {
    return by_turns(x.scaled(1000), echo, [&] { client.ask(header, ":"); });
  });
  // What no daemon can undercut: the shell and the guest, without ZeroMQ on the way.
  direct_guests direct{x.build(), 1};
  for (auto& floor : x.in_both_loads("- its guest alone", "us", limit_kind::none, 0, [&] {
         return by_turns(x.scaled(1000), echo, [&] { direct.exec(); });
       }))
    rows.push_back(floor);
  return rows;
}

} // namespace corral::bench
