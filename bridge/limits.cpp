// What one client may ask of the bridge at a time.

#include "bridge/bridge.hpp"

namespace corral {

namespace {

constexpr auto usual_wait = std::chrono::milliseconds{100}; // Where only replies make room.

error queue_full(std::string text, std::chrono::milliseconds wait) {
  return {errc::queue_full, std::move(text), fields{}.set("retry_after_ms", wait.count())};
}

} // namespace

/// The refusal of a request beyond the client's rate. What ends work or keeps a connection alive
/// isn't counted: to refuse it would cost as much.
std::optional<error> bridge::too_fast(client_registry::client& client, const op_spec& spec) const {
  auto free = spec.id == op::hello || spec.id == op::ping || spec.id == op::cancel
              || spec.id == op::release;
  if (settings_.rate_limit <= 0 || free)
    return std::nullopt;
  if (!client.rate)
    client.rate.emplace(settings_.rate_limit);
  auto wait = client.rate->take(now());
  if (!wait)
    return std::nullopt;
  return queue_full("more requests than this daemon takes of one client; ask again later",
                    std::chrono::ceil<std::chrono::milliseconds>(*wait));
}

error too_many(bool of_this_client) {
  return queue_full(of_this_client
                        ? "this client's open requests hold too many bytes; wait for their replies"
                        : "too many requests are open; wait for their replies",
                    usual_wait);
}

void bridge::refuse(const std::string& routing_id, bool delimiter, const std::string& id,
                    const error& why) {
  ++errors_[std::string{to_string(why.code)}];
  auto reply = make_reply(why);
  reply.header.set("re", id);
  send(routing_id, delimiter, std::move(reply));
}

} // namespace corral
