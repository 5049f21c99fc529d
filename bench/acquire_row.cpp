#include "bench/context.hpp"

namespace corral::bench {

namespace {

/// A client that says heartbeats and so holds leases.
dealer leasing_client(context& x, const daemon& corrald) {
  dealer client{x.zmq(), corrald.endpoint()};
  client.ask(R"({"op":"hello","id":"h","heartbeat_ms":600000})");
  return client;
}

std::string release_header(const dealer::answer& acquired) {
  return R"({"op":"release","id":"2","sandbox":")" + acquired.string("sandbox") + R"(","lease":")"
         + acquired.string("lease") + "\"}";
}

std::vector<row> measure_origin(context& x, daemon& corrald, const std::string& origin) {
  auto client = leasing_client(x, corrald);
  auto header = R"({"op":"acquire","id":"1","thread":")" + origin + "\"}";
  auto first = client.ask(header);
  if (origin == "warm") // Nobody else holds it: each release parks it again.
    client.ask(release_header(first));
  frame_sizes sizes{header.size(), 0, first.header.size(), 0};
  return x.in_both_loads("acquire " + origin, "us", limit_kind::at_most, 2, [&] {
    samples echoed, acquired;
    for (size_t i = 0; i < x.scaled(1000); ++i) {
      echoed.push_back(time_of([&] { x.echo().exchange(sizes); }));
      dealer::answer got;
      acquired.push_back(time_of([&] { got = client.ask(header); }));
      if (got.string("origin") != origin)
        throw std::runtime_error{"not " + origin + " but " + got.string("origin")};
      client.ask(release_header(got));
    }
    return pair{median(echoed), median(acquired)};
  });
}

} // namespace

std::vector<row> measure_acquire(context& x) {
  daemon corrald{x.build(), {}};
  auto rows = measure_origin(x, corrald, "active");
  for (auto& warm : measure_origin(x, corrald, "warm"))
    rows.push_back(warm);
  return rows;
}

} // namespace corral::bench
