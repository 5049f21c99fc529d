// What the guest's dispatcher and its file operations know of each other.

#pragma once

#include "messages/wire/frame.hpp"
#include "messages/wire/ops.hpp"

#include <functional>
#include <memory>

namespace corral::guest {

/// The payload of a request as it arrives. Called from a worker thread; blocks. Taking a piece
/// grants the sender credit for as many bytes, so a slow reader holds at most `initial_credit` in
/// memory.
class payload_reader {
public:
  virtual ~payload_reader() = default;

  /// The next piece, in order; an empty one at the end. An error if the request was cancelled, its
  /// time ran out, or the link went.
  virtual result<blob> next() = 0;
};

/// Where the answer goes. Called from a worker thread; `write` blocks while the peer grants no
/// credit.
class reply_writer {
public:
  virtual ~reply_writer() = default;

  /// A whole reply at once.
  virtual void finish(message reply) = 0;

  /// A reply whose payload comes in pieces: the header with `parts` and their totals first, ...
  virtual void begin(const fields& header, uint64_t total) = 0;
  /// ... then exactly `total` bytes; an error if the request was cancelled or the link went, ...
  virtual result<void> write(blob piece) = 0;
  /// ... then fields for the last frame, such as a checksum. An error reply instead of the missing
  /// bytes is `finish`.
  virtual void end(const fields& trailer) = 0;

  /// True once the request is cancelled or out of time: long walks ask this now and then.
  virtual bool cancelled() const = 0;
};

/// Serves file operations on threads of its own, so that a long grep holds nothing up.
class operation_handler {
public:
  virtual ~operation_handler() = default;

  /// Starts a file operation (op_spec::file) and returns at once. Operations on one path that
  /// change it follow one another in the order submitted; all others run side by side.
  virtual void submit(const op_spec& spec, fields header, std::shared_ptr<payload_reader> in,
                      std::shared_ptr<reply_writer> out) = 0;
};

} // namespace corral::guest
