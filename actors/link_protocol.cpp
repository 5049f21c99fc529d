#include "actors/link_protocol.hpp"

#include <algorithm>

namespace corral {

namespace {

tl::unexpected<error> untrusted(std::string text) {
  return failure(errc::sandbox_runtime, "guest link: " + std::move(text));
}

/// Takes as long for any two secrets of one length.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size())
    return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

message credit_event(uint64_t re, uint64_t bytes) {
  message x;
  x.header.set("re", re).set("event", "credit").set("bytes", bytes);
  return x;
}

} // namespace

result<link_protocol::outcome> link_protocol::receive(blob bytes) {
  decoder_.feed(std::move(bytes));
  return take_frames();
}

result<link_protocol::outcome> link_protocol::received(size_t bytes) {
  decoder_.wrote(bytes);
  return take_frames();
}

result<link_protocol::outcome> link_protocol::take_frames() {
  outcome out;
  for (;;) {
    auto x = decoder_.next();
    if (!x)
      return tl::unexpected{x.error()};
    if (!*x)
      return out;
    if (auto taken = take(std::move(**x), out); !taken)
      return tl::unexpected{taken.error()};
  }
}

result<void> link_protocol::take(frame x, outcome& out) {
  auto name = x.header.text("op");
  if (!proved_)
    return name == "hello" ? take_hello(x.header, out) : untrusted("its first frame is no hello");
  auto re = x.header.integer("re").value_or(0);
  if (re <= 0)
    return untrusted("a frame without a valid re");
  if (name == "credit") {
    take_credit(static_cast<uint64_t>(re),
                static_cast<uint64_t>(std::max<int64_t>(x.header.integer("bytes").value_or(0), 0)),
                out);
    return {};
  }
  return take_payload(static_cast<uint64_t>(re), std::move(x), out);
}

result<void> link_protocol::take_hello(const fields& x, outcome& out) {
  if (x.text("id") != settings_.id || !same_secret(x.text("secret").value_or(""), settings_.secret))
    return untrusted("a hello that proves nothing");
  proved_ = true;
  fields hello;
  hello.set("op", "hello").set("secret", settings_.secret).set("limits", settings_.limits);
  out.bytes.push_back(blob::take(encode_frame_head(hello.dump(), 0)));
  out.hello = x;
  out.hello->erase("secret");
  return {};
}

result<void> link_protocol::take_payload(uint64_t re, frame x, outcome& out) {
  if (!awaited_.contains(re))
    return {}; // Else a guest could have any number of half replies kept.
  auto i = downloads_.find(re);
  if (i == downloads_.end()) {
    if (!x.header.has("ok") && !x.header.has("event"))
      return {}; // The rest of a reply that nobody waits for any more.
    auto total = stated_total(x.header);
    if (total && *total > max_payload_bytes)
      return begin_chunks(re, std::move(x), out);
    i = downloads_.emplace(re, frame_assembler{}).first;
  } else if (auto stream = std::get_if<chunk_stream>(&i->second)) {
    return take_chunk(re, *stream, std::move(x), out);
  }
  auto size = x.payload.size();
  auto more = has_more(x.header);
  auto whole = std::get<frame_assembler>(i->second).add(std::move(x));
  if (!whole)
    return tl::unexpected{whole.error()};
  if (more) {
    out.bytes.push_back(blob::take(encode_credit(static_cast<int64_t>(re), size)));
    return {};
  }
  end_download(re);
  if (*whole)
    finish(std::move(**whole), re, out);
  return {};
}

void link_protocol::finish(message reply, uint64_t re, outcome& out) {
  if (reply.header.has("ok")) {
    awaited_.erase(re);
    uploads_.erase(re);
  }
  out.messages.push_back(std::move(reply));
}

void link_protocol::end_download(uint64_t re) {
  downloads_.erase(re);
  if (downloads_.empty())
    decoder_.release_buffers();
}

result<void> link_protocol::begin_chunks(uint64_t re, frame x, outcome& out) {
  auto sizes = *x.header.sizes("parts");
  if (sizes.size() != 1)
    return untrusted("a reply of that size has a single part");
  chunk_stream stream{x.header, sizes[0].first, sizes[0].second, 0, 0};
  auto i = downloads_.emplace(re, std::move(stream)).first;
  return take_chunk(re, std::get<chunk_stream>(i->second), std::move(x), out);
}

result<void> link_protocol::take_chunk(uint64_t re, chunk_stream& stream, frame x, outcome& out) {
  auto more = has_more(x.header);
  auto failed = x.header.flag("ok") == false; // An error in place of the missing bytes.
  if (x.payload.size() > stream.total - stream.offset)
    return untrusted("more payload than its parts state");
  if (!x.payload.empty()) {
    message chunk;
    chunk.header.set("re", re).set("event", "chunk").set("stream", stream.part);
    chunk.header.set("seq", stream.seq++).set("offset", stream.offset);
    stream.offset += x.payload.size();
    chunk.add_part("", std::move(x.payload));
    out.messages.push_back(std::move(chunk));
  }
  if (more)
    return {};
  if (!failed && stream.offset < stream.total)
    return untrusted("less payload than its parts state");
  message last;
  last.header = failed ? x.header : stream.header.merge(x.header);
  last.header.erase("parts").erase("more");
  finish(std::move(last), re, out);
  end_download(re);
  return {};
}

void link_protocol::take_credit(uint64_t re, uint64_t bytes, outcome& out) {
  auto i = uploads_.find(re);
  if (i == uploads_.end())
    return;
  // No more than it has taken: neither the socket's buffer nor the client has a bound of its own.
  bytes = std::min(bytes, i->second.uncredited);
  if (bytes == 0)
    return;
  i->second.uncredited -= bytes;
  i->second.sender.grant(bytes);
  if (i->second.streamed)
    out.messages.push_back(credit_event(re, bytes));
  pump(re, out);
}

link_protocol::outcome link_protocol::send(message x) {
  outcome out;
  start(std::move(x), out);
  return out;
}

void link_protocol::start(message x, outcome& out) {
  auto re = static_cast<uint64_t>(x.header.integer("re").value_or(0));
  // A guest can't cancel what it has half of, and would never answer what stays so.
  if (auto i = uploads_.find(re); i != uploads_.end() && !i->second.streamed) {
    i->second.after.push_back(std::move(x));
    return;
  }
  auto op = x.header.text("op");
  if (op != "cancel" && op != "ack") // These speak of another request and have no reply.
    awaited_.insert(re);
  auto streamed = x.header.has("parts");
  auto sender = streamed ? frame_sender{static_cast<int64_t>(re), x.header,
                                        stated_total(x.header).value_or(0)}
                         : frame_sender{static_cast<int64_t>(re), std::move(x)};
  auto i = uploads_.insert_or_assign(re, upload{std::move(sender), streamed, 0, {}}).first;
  if (streamed && i->second.sender.expected() > 0)
    out.messages.push_back(credit_event(re, initial_credit));
  pump(re, out);
}

link_protocol::outcome link_protocol::data(uint64_t re, const blob& piece) {
  outcome out;
  auto i = uploads_.find(re);
  if (i == uploads_.end() || !i->second.streamed)
    return out;
  i->second.sender.push(piece.slice(0, i->second.sender.expected()));
  pump(re, out);
  return out;
}

link_protocol::outcome link_protocol::grant(uint64_t re, uint64_t bytes) {
  outcome out;
  if (downloads_.contains(re))
    out.bytes.push_back(blob::take(encode_credit(static_cast<int64_t>(re), bytes)));
  return out;
}

void link_protocol::pump(uint64_t re, outcome& out) {
  auto i = uploads_.find(re);
  while (auto next = i->second.sender.next()) {
    i->second.uncredited += next->second.size();
    out.bytes.push_back(blob::take(std::move(next->first)));
    if (!next->second.empty())
      out.bytes.push_back(std::move(next->second));
  }
  if (!i->second.sender.done())
    return;
  auto after = std::move(i->second.after);
  uploads_.erase(i);
  for (auto& x : after)
    start(x, out);
}

} // namespace corral
