// The byte stream between daemon and guest: framing, and payloads larger than a frame.

#pragma once

#include "messages/wire/buffer_pool.hpp"
#include "messages/wire/message.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace corral {

constexpr size_t frame_prefix_bytes = 8;
constexpr size_t max_frame_payload = 256 * 1024;
constexpr size_t initial_credit = 1024 * 1024; ///< Payload bytes of one request, each way.

/// u32 header length | u32 payload length | header | payload; both lengths big endian.
struct frame {
  fields header;
  blob payload;
};

/// Prefix and header of a frame; the payload follows it on the wire.
std::string encode_frame_head(std::string_view header, size_t payload_bytes);

/// Cuts a byte stream into frames. A fault is final: the stream can't be trusted from there on.
class frame_decoder {
public:
  void feed(blob bytes);

  /// The next whole frame; nothing if more bytes are needed. `invalid_request` if a length is over
  /// its limit (fields::max_bytes, max_frame_payload) or the header is not a JSON object.
  result<std::optional<frame>> next();

  /// How many bytes the frame under way still lacks; 0 if not even its prefix is there. What a
  /// reader should wait for.
  size_t missing() const;

  /// Where the rest of a large payload belongs: reading there and telling with `wrote` saves
  /// copying it. Empty while no such payload is under way.
  std::span<char> space();
  void wrote(size_t count) { filled_ += count; }

  /// Ends a transfer: the buffers of earlier large payloads aren't kept for further ones.
  void release_buffers() { buffers_ = {}; }

private:
  blob gather(size_t count);
  result<std::optional<frame>> finish_large();
  void begin_large();

  tl::unexpected<error> fail(std::string text);

  std::deque<blob> pieces_;
  size_t buffered_ = 0;
  std::optional<std::pair<uint32_t, uint32_t>> lengths_; // Header and payload, once known.
  buffer_pool buffers_;
  std::shared_ptr<char[]> large_; // A payload that came in part, at its final place.
  size_t filled_ = 0;             // Of `large_`.
  std::optional<fields> header_;  // Of that payload.
  std::optional<error> fault_;
};

/// Sends one message as frames of at most `max_frame_payload` within the credit that the receiver
/// grants. The first frame has the whole header, with the totals in `parts`; later ones only `re`.
/// All but the last say `more: true`.
class frame_sender {
public:
  /// `re` names the request on this link.
  frame_sender(int64_t re, message x);

  /// For a payload that arrives in pieces: `header` must state the totals in `parts`.
  frame_sender(int64_t re, const fields& header, uint64_t total);

  void push(blob bytes);
  void grant(uint64_t bytes) { credit_ += bytes; }

  /// Fields for the last frame, such as a checksum; before that frame is taken.
  void set_trailer(const fields& x) { trailer_ = x; }

  /// The next frame's bytes as head and payload; nothing if there is no credit or data for now.
  std::optional<std::pair<std::string, blob>> next();

  bool done() const { return done_; }
  uint64_t buffered() const { return buffered_; }
  /// Bytes that `push` still has to bring.
  uint64_t expected() const { return total_ - sent_ - buffered_; }

private:
  int64_t re_;
  fields first_header_;
  fields trailer_;
  std::deque<blob> pieces_;
  uint64_t total_;
  uint64_t sent_ = 0;
  uint64_t buffered_ = 0;
  uint64_t credit_ = initial_credit;
  bool started_ = false;
  bool done_ = false;
};

/// Collects the frames of one message.
class frame_assembler {
public:
  explicit frame_assembler(size_t limit = max_payload_bytes) : limit_{limit} {}

  /// Takes the next frame of this message: the message once it is complete. Of a later frame's
  /// header only the last one's counts, so that a peer can't make this grow without sending what it
  /// stated. A last frame that says `ok: false` is the whole message: its sender failed on the way.
  /// `invalid_request` if the payload exceeds the limit or is not what the first frame's `parts`
  /// state; without `parts` it may be any size within the limit.
  result<std::optional<message>> add(frame x);

private:
  result<void> start(fields header);

  size_t limit_;
  std::optional<fields> header_;
  std::optional<uint64_t> total_; // Nothing if the first frame has no `parts`.
  uint64_t received_ = 0;
  std::vector<blob> pieces_;
};

/// True if another frame of the same message follows.
bool has_more(const fields& header);

/// The payload bytes that a first frame's `parts` add up to; nothing if they are malformed.
std::optional<uint64_t> stated_total(const fields& header);

/// Tells the peer that it may send `bytes` more of the payload of `re`.
std::string encode_credit(int64_t re, uint64_t bytes);

} // namespace corral
