#pragma once

#include "messages/wire/frame.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace corral {

/// The daemon's side of a guest link, without socket, clock or actor: bytes and messages in, bytes
/// and messages out. Holds at most `initial_credit` of unsent payload a request beyond what the
/// caller handed over in one message, and at most `max_payload_bytes` of a reply under way. Replies
/// that nobody waits for are dropped.
class link_protocol {
public:
  struct settings {
    std::string id;
    std::string secret;
    fields limits; ///< Told to the guest in the hello.
  };

  /// What one call brought about.
  struct outcome {
    std::vector<blob> bytes;       ///< To be written, in order.
    std::optional<fields> hello;   ///< The guest has proved itself; once.
    std::vector<message> messages; ///< From the guest: replies and events, named by `re`.
  };

  explicit link_protocol(settings x) : settings_{std::move(x)} {}

  /// Takes bytes of the guest's. An error means that the peer can't be trusted: close.
  result<outcome> receive(blob bytes);

  /// Sends a message named by its `re`. If its header states `parts`, a payload of that size
  /// follows by `data`, and `credit` events say how much may. A cancel or acknowledgement has its
  /// request's `re`: it follows what was handed over for that, and ends what was still to come by
  /// `data`.
  outcome send(message x);
  outcome data(uint64_t re, const blob& piece);

  /// The reply's bytes were taken further on: the guest may send as many more.
  outcome grant(uint64_t re, uint64_t bytes);

  /// Where to read the rest of a large payload to, if one is under way; `received` then takes the
  /// place of `receive`.
  std::span<char> space() { return decoder_.space(); }
  result<outcome> received(size_t bytes);

  /// How many bytes end the frame under way; 0 between frames.
  size_t missing() const { return decoder_.missing(); }

private:
  /// A reply too large for one message, handed on piece by piece.
  struct chunk_stream {
    fields header;
    std::string part;
    uint64_t total = 0;
    uint64_t offset = 0;
    int64_t seq = 0;
  };
  struct upload {
    frame_sender sender;
    bool streamed;
    uint64_t uncredited = 0;    // Sent, and the guest has not said that it took it.
    std::vector<message> after; // To be sent once this is.
  };

  result<outcome> take_frames();
  result<void> take(frame x, outcome& out);
  result<void> take_hello(const fields& x, outcome& out);
  result<void> take_payload(uint64_t re, frame x, outcome& out);
  result<void> begin_chunks(uint64_t re, frame x, outcome& out);
  result<void> take_chunk(uint64_t re, chunk_stream& stream, frame x, outcome& out);
  void take_credit(uint64_t re, uint64_t bytes, outcome& out);
  void finish(message reply, uint64_t re, outcome& out);
  void end_download(uint64_t re);
  void start(message x, outcome& out);
  void pump(uint64_t re, outcome& out);

  settings settings_;
  frame_decoder decoder_;
  bool proved_ = false;
  std::set<uint64_t> awaited_; // What has been asked and not been answered.
  std::map<uint64_t, upload> uploads_;
  std::map<uint64_t, std::variant<frame_assembler, chunk_stream>> downloads_;
};

} // namespace corral
