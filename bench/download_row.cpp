#include "bench/context.hpp"

namespace corral::bench {

namespace {

constexpr size_t total = 100 * 1024 * 1024;
constexpr size_t frame = 256 * 1024;
constexpr size_t window = 4; // Frames under way: the credit of a MiB that a transfer has.

double mebibytes_a_second(size_t bytes, double us) {
  return static_cast<double>(bytes) / us * 1e6 / (1024 * 1024);
}

void download_through_echo(echo& x) {
  frame_sizes sizes{64, 0, 64, frame};
  size_t asked = 0, got = 0;
  for (; asked < window * frame; asked += frame)
    x.send(sizes);
  while (got < total) {
    got += x.receive();
    if (asked < total) {
      x.send(sizes);
      asked += frame;
    }
  }
}

void download(dealer& client, const std::string& header) {
  client.send(header);
  for (size_t got = 0;;) {
    auto x = client.receive();
    got += x.payload.size();
    if (!x.is_final())
      continue;
    if (!x.is_ok() || got != total)
      throw std::runtime_error{"the download failed: " + std::string{x.text()}};
    return;
  }
}

} // namespace

std::vector<row> measure_download(context& x) {
  daemon corrald{x.build(), {}};
  auto sandbox = corrald.acquire("bench");
  corrald.run(sandbox, "head -c " + std::to_string(total) + " /dev/zero > data");
  dealer client{x.zmq(), corrald.endpoint()};
  auto header = R"({"op":"download_file","id":"1","path":"data","sandbox":")" + sandbox + "\"}";
  return x.in_both_loads("100 MiB download", "MiB/s", limit_kind::at_least, 0.4, [&] {
    auto echoed = time_of([&] { download_through_echo(x.echo()); });
    auto measured = time_of([&] { download(client, header); });
    return pair{mebibytes_a_second(total, echoed), mebibytes_a_second(total, measured)};
  });
}

} // namespace corral::bench
