#include "bridge/wire_edge.hpp"

namespace corral {

namespace {

blob adopt(zmq::message_t&& x) {
  auto owner = std::make_shared<zmq::message_t>(std::move(x));
  std::string_view bytes{static_cast<const char*>(owner->data()), owner->size()};
  return {std::move(owner), bytes};
}

} // namespace

arrival read_frames(std::vector<zmq::message_t> frames) {
  arrival x{false, {}, failure(errc::invalid_request, "not a corral/1 message")};
  size_t next = 0;
  if (!frames.empty() && frames[0].size() == 0) {
    x.from_req_socket = true;
    next = 1;
  }
  auto left = frames.size() - next;
  if (left < 2 || left > 3 || frames[next].to_string_view() != zmq_loop::protocol)
    return x;
  auto header = fields::parse(frames[next + 1].to_string_view());
  if (!header) {
    x.what = failure(errc::invalid_request, "malformed message: the header is " + header.error());
    return x;
  }
  x.id = header->text("id").value_or("");
  if (x.id.size() > max_request_id)
    x.id.clear();
  auto payload = left == 3 ? adopt(std::move(frames[next + 2])) : blob{};
  auto whole = message::cut(std::move(*header), payload);
  if (!whole)
    x.what = tl::unexpected{whole.error()};
  else
    x.what = check_request(std::move(*whole));
  return x;
}

} // namespace corral
