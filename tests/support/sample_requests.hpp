// Requests made from the table of ops: what it accepts, and what it must refuse.

#pragma once

#include "messages/wire/ops.hpp"

#include <string>
#include <vector>

namespace corral::test {

/// The least that an op accepts: an id, a target and what is required.
message minimal_request(const op_spec& spec);

/// Every field and part of the op, each with a value it accepts. `cancel` and `release` take fields
/// here that make no sense together: the table checks each alone.
message full_request(const op_spec& spec);

/// A value for one field that must be refused.
struct bad_value {
  std::string fault; ///< Such as "a number".
  fields value;      ///< Holds the field under its name.
};

std::vector<bad_value> bad_values(const field_spec& f);

/// The fields that name what the op is about, as the checks know them.
std::vector<field_spec> target_fields_of(const op_spec& spec);

} // namespace corral::test
