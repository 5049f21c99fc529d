#include "messages/wire/message.hpp"

#include <algorithm>

namespace corral {

namespace {

tl::unexpected<error> malformed(std::string text) {
  return failure(errc::invalid_request, "malformed message: " + std::move(text));
}

} // namespace

blob message::part_of(std::string_view name) const {
  for (auto& x : parts)
    if (x.name == name)
      return x.data;
  return {};
}

bool message::has_part(std::string_view name) const {
  return std::any_of(parts.begin(), parts.end(), [&](auto& x) { return x.name == name; });
}

message& message::add_part(std::string_view name, blob data) {
  parts.push_back({std::string{name}, std::move(data)});
  return *this;
}

size_t message::payload_size() const {
  size_t total = 0;
  for (auto& x : parts)
    total += x.data.size();
  return total;
}

std::vector<std::pair<std::string, uint64_t>> message::sizes() const {
  std::vector<std::pair<std::string, uint64_t>> result;
  for (auto& x : parts)
    result.emplace_back(x.name, x.data.size());
  return result;
}

std::string message::encode_header() const& {
  return message{*this}.header_with_parts();
}

std::string message::encode_header() && {
  return header_with_parts();
}

std::string message::header_with_parts() {
  auto described = !parts.empty() && !(parts.size() == 1 && parts.front().name.empty());
  if (described)
    header.set("parts", sizes());
  return header.dump();
}

blob message::encode_payload() const {
  std::vector<blob> pieces;
  for (auto& x : parts)
    if (!x.data.empty())
      pieces.push_back(x.data);
  return join(pieces);
}

result<message> message::decode(std::string_view header, const blob& payload) {
  auto parsed = fields::parse(header);
  if (!parsed)
    return malformed("the header is " + parsed.error());
  return cut(std::move(*parsed), payload);
}

result<message> message::cut(fields header, const blob& payload) {
  message x{std::move(header), {}};
  if (!x.header.has("parts")) {
    if (!payload.empty())
      x.add_part("", payload);
    return x;
  }
  auto sizes = x.header.sizes("parts");
  if (!sizes)
    return malformed("parts must be a list of [name, bytes]");
  if (sizes->size() > max_parts)
    return malformed(std::to_string(sizes->size()) + " parts; at most "
                     + std::to_string(max_parts));
  size_t offset = 0;
  for (auto& [name, size] : *sizes) {
    if (name.empty())
      return malformed("a part without a name");
    if (x.has_part(name))
      return malformed("part \"" + name + "\" is listed twice");
    if (size > payload.size() - offset)
      return malformed("parts state more bytes than the payload's "
                       + std::to_string(payload.size()));
    x.add_part(name, payload.slice(offset, size));
    offset += size;
  }
  if (offset != payload.size())
    return malformed("the payload has " + std::to_string(payload.size())
                     + " bytes, its parts state " + std::to_string(offset));
  x.header.erase("parts");
  return x;
}

message make_reply(const fields& result) {
  message x{result, {}};
  x.header.set("ok", true);
  return x;
}

message make_reply(const error& x) {
  message reply;
  reply.header.set("ok", false).set("error", x.to_fields());
  return reply;
}

} // namespace corral
