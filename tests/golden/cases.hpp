// Messages whose bytes are agreed: a change of any is a change of the protocol.

#pragma once

#include "messages/wire/message.hpp"

#include <string>
#include <vector>

namespace corral::test {

struct golden_case {
  std::string name;
  message what;
};

struct golden_file {
  std::string name; ///< Without ".jsonl".
  bool requests;    ///< Each line says whether `check_request` accepts it.
  std::vector<golden_case> cases;
};

/// accepted, refused, replies and events; the first two walk the table of ops.
std::vector<golden_file> golden_files();

/// One line: name, header (with parts), payload and guest frame in hex; for a request `accepted`
/// and, if it is not, `error`.
std::string golden_line(const golden_case& x, bool is_request);

std::string to_hex(std::string_view bytes);
std::string from_hex(std::string_view digits);

} // namespace corral::test
