#include "bench/context.hpp"
#include "bench/process_memory.hpp"

#include <algorithm>
#include <thread>

namespace corral::bench {

namespace {

constexpr uint64_t half = 50 * 1024 * 1024; // Of the 100 MiB, one way.
constexpr uint64_t piece = 256 * 1024;
constexpr std::chrono::seconds settle{2}; // Buffers are released once they are idle.

/// Sends the first half of the traffic as a file, within the daemon's credit.
void upload(dealer& client, const std::string& sandbox) {
  static const std::string bytes(piece, 'x');
  client.send(R"({"op":"write_file","id":"w","path":"data","size":)" + std::to_string(half)
              + R"(,"sandbox":")" + sandbox + "\"}");
  for (uint64_t credit = 0, sent = 0, seq = 0;;) {
    auto x = client.receive();
    if (x.is_final() && !x.is_ok())
      throw std::runtime_error{"the upload failed: " + std::string{x.text()}};
    if (x.is_final())
      return;
    credit += static_cast<uint64_t>(
        fields::parse(x.text()).value_or(fields{}).integer("bytes").value_or(0));
    for (; credit >= piece && sent < half; credit -= piece, sent += piece)
      client.send(R"({"op":"data","re":"w","seq":)" + std::to_string(seq++) + R"(,"eof":)"
                      + (sent + piece == half ? "true}" : "false}"),
                  bytes);
  }
}

void download(dealer& client, const std::string& sandbox) {
  client.send(R"({"op":"download_file","id":"r","path":"data","sandbox":")" + sandbox + "\"}");
  for (;;) {
    auto x = client.receive();
    if (x.is_final() && !x.is_ok())
      throw std::runtime_error{"the download failed: " + std::string{x.text()}};
    if (x.is_final())
      return;
  }
}

void make_used_sandboxes(context& x, daemon& corrald, dealer& client, const std::string& name,
                         size_t count) {
  for (size_t i = 0; i < count; ++i) {
    auto id = corrald.acquire(name + std::to_string(i));
    upload(client, id);
    download(client, id);
    corrald.run(id, "rm data");
    if (i % 10 == 9)
      x.tell("memory: " + std::to_string(i + 1) + " sandboxes");
  }
  std::this_thread::sleep_for(settle);
}

} // namespace

std::vector<row> measure_memory(context& x) {
  daemon corrald{x.build(), {"pool.replicas=100"}};
  dealer client{x.zmq(), corrald.endpoint()};
  make_used_sandboxes(x, corrald, client, "first-", 10);
  auto before = resident_bytes(corrald.pid());
  auto count = std::max<size_t>(x.scaled(50), 20); // Fewer would weigh what is made once.
  make_used_sandboxes(x, corrald, client, "more-", count);
  auto after = resident_bytes(corrald.pid());
  auto grown = after > before ? static_cast<double>(after - before) : 0.0;
  auto sandboxes = sandbox_bytes(corrald.pid());
  if (sandboxes.size() < count)
    throw std::runtime_error{"only " + std::to_string(sandboxes.size()) + " sandboxes found"};
  auto largest = *std::max_element(sandboxes.begin(), sandboxes.end());
  return {absolute_row("daemon memory per sandbox", "KiB",
                       grown / 1024 / static_cast<double>(count), 64),
          absolute_row("guest and shell (largest)", "MiB",
                       static_cast<double>(largest) / (1024 * 1024), 4)};
}

} // namespace corral::bench
