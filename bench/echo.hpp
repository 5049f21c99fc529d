// The baseline: what ZeroMQ itself takes from one process to another and back.

#pragma once

#include "bench/dealer.hpp"
#include "os/child_process.hpp"
#include "os/temp_dir.hpp"

#include <string>

namespace corral::bench {

/// The sizes of the frames of one exchange, so that an echo can carry the same.
struct frame_sizes {
  size_t request_header = 0;
  size_t request_payload = 0;
  size_t answer_header = 0;
  size_t answer_payload = 0;
};

/// A ROUTER in a process of its own, and a DEALER here, over ipc.
class echo {
public:
  explicit echo(zmq::context_t& context);

  /// One exchange of frames of these sizes.
  void exchange(const frame_sizes& x);

  void send(const frame_sizes& x);
  size_t receive(); ///< The bytes of the answer's payload.

private:
  temp_dir dir_;
  child_process process_;
  dealer dealer_;
  std::string payload_;
};

/// The other process: answers with the sizes that a request names, for ever.
int serve_echo(const std::string& endpoint);

} // namespace corral::bench
