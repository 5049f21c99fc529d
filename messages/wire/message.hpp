// One message of either link: small fields in a JSON header, everything of any size in named parts
// of one payload.

#pragma once

#include "messages/wire/blob.hpp"
#include "messages/wire/error.hpp"
#include "messages/wire/fields.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace corral {

constexpr size_t max_payload_bytes = 16 * 1024 * 1024; ///< Of one ZeroMQ message.

constexpr size_t max_parts = 16; ///< Of one message; no op has more than three.

struct part {
  std::string name;
  blob data;
};

struct message {
  fields header;
  std::vector<part> parts;

  /// The bytes of a part; empty if there is none of that name.
  blob part_of(std::string_view name) const;
  bool has_part(std::string_view name) const;
  message& add_part(std::string_view name, blob data);
  size_t payload_size() const;

  /// What the header's `parts` say: each part's name and size.
  std::vector<std::pair<std::string, uint64_t>> sizes() const;

  /// The header's JSON with the list of `parts` in it.
  std::string encode_header() const&;
  std::string encode_header() &&; ///< Without a copy of the header.

  /// The parts one after the other, as one buffer; no copy if there is at most one.
  blob encode_payload() const;

  /// Reads a header and cuts the payload as its `parts` say. The lengths must add up to the payload
  /// and no name may stand twice. A payload that no `parts` describe becomes one part without a
  /// name.
  static result<message> decode(std::string_view header, const blob& payload);

  /// The same for a header that is parsed already.
  static result<message> cut(fields header, const blob& payload);

private:
  std::string header_with_parts();
};

/// A successful final reply; the fields of the result are added to its header.
message make_reply(const fields& result = {});

/// A final reply that says what failed.
message make_reply(const error& x);

} // namespace corral
