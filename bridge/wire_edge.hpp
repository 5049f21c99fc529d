#pragma once

#include "bridge/zmq_loop.hpp"
#include "messages/wire/ops.hpp"

#include <zmq.hpp>

#include <string>
#include <vector>

namespace corral {

/// What arrived from a client: a request, or what is wrong with it and, if it could be read, its
/// id.
struct arrival {
  bool from_req_socket = false;
  std::string id; ///< Empty if it can't be answered.
  result<request> what;
};

/// Reads the frames that follow the routing id. Never throws, whatever the bytes are.
arrival read_frames(std::vector<zmq::message_t> frames);

} // namespace corral
