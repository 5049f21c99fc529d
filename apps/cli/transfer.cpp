#include "apps/cli/transfer.hpp"

#include <algorithm>
#include <chrono>

namespace corral::cli {

namespace {

using sent_handler = std::function<void(uint64_t)>;

constexpr uint64_t piece_bytes = 256 * 1024; // The most that one data message may bring.

constexpr uint64_t default_transfer_limit = 100 * 1024 * 1024;

/// What is known of an upload under way.
struct upload_progress {
  std::string id;
  uint64_t credit = 0;
  uint64_t sent = 0;
  int64_t seq = 0;
};

cli_result<void> send_within_credit(daemon_client& client, const content& from, upload_progress& x,
                                    const sent_handler& on_sent) {
  while (x.credit > 0 && x.sent < from.size()) {
    auto piece = from.read(x.sent, std::min(x.credit, piece_bytes));
    message data;
    data.header.set("op", "data").set("re", x.id).set("seq", x.seq++);
    if (piece) {
      x.credit -= piece->size();
      x.sent += piece->size();
      data.header.set("eof", x.sent == from.size());
      data.add_part("", *piece);
    } else {
      data.header.set("eof", true); // Too early: the daemon gives the write up.
    }
    client.notify(data);
    if (piece && on_sent)
      on_sent(piece->size());
    if (!piece)
      return tl::unexpected{piece.error()};
  }
  return {};
}

cli_result<message> upload_in_pieces(daemon_client& client, message request, const content& from,
                                     const sent_handler& on_sent) {
  request.header.set("size", from.size());
  auto id = client.send(std::move(request));
  if (!id)
    return tl::unexpected{id.error()};
  upload_progress progress{*id};
  for (;;) {
    auto x = client.receive(std::chrono::hours{24});
    if (!x)
      return tl::unexpected{x.error()};
    if (!*x)
      continue;
    if (auto reply = daemon_client::as_reply(**x, *id))
      return std::move(*reply);
    auto& header = (*x)->header;
    if (header.text("re") != *id || header.text("event") != "credit")
      continue;
    progress.credit +=
        static_cast<uint64_t>(std::max<int64_t>(header.integer("bytes").value_or(0), 0));
    if (auto sent = send_within_credit(client, from, progress, on_sent); !sent)
      return tl::unexpected{sent.error()};
  }
}

} // namespace

uint64_t transfer_limit(const daemon_client& client) {
  auto limits = client.welcome().object("limits").value_or(fields{});
  auto limit = limits.integer("transfer").value_or(default_transfer_limit);
  return limit > 0 ? static_cast<uint64_t>(limit) : default_transfer_limit;
}

cli_result<fields> download(daemon_client& client, message request, const byte_sink& sink) {
  uint64_t received = 0;
  auto reply = client.call(std::move(request), std::chrono::hours{24},
                           [&](const message& x) -> cli_result<void> {
                             if (x.header.text("event") != "chunk")
                               return {};
                             auto bytes = x.encode_payload();
                             auto offset = x.header.integer("offset").value_or(-1);
                             if (offset != static_cast<int64_t>(received))
                               return failed("protocol", "a chunk of the content is missing");
                             received += bytes.size();
                             return sink(bytes.view());
                           });
  if (!reply)
    return tl::unexpected{reply.error()};
  if (auto rest = sink(reply->part_of("content").view()); !rest)
    return tl::unexpected{rest.error()};
  return reply->header;
}

cli_result<fields> upload(daemon_client& client, message request, const content& from,
                          const sent_handler& on_sent) {
  if (from.size() > max_payload_bytes)
    return upload_in_pieces(client, std::move(request), from, on_sent).map([](const message& x) {
      return x.header;
    });
  auto bytes = from.read(0, from.size());
  if (!bytes)
    return tl::unexpected{bytes.error()};
  request.add_part("content", std::move(*bytes));
  return client.call(std::move(request)).map([](const message& x) { return x.header; });
}

} // namespace corral::cli
