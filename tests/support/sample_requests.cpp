#include "tests/support/sample_requests.hpp"

#include <limits>

namespace corral::test {

namespace {

constexpr auto unbounded = std::numeric_limits<int64_t>::max();

void set_valid(fields& header, const field_spec& f) {
  switch (f.type) {
  case field_type::text:
    header.set(f.name, std::string(static_cast<size_t>(f.min), 'x'));
    break;
  case field_type::name:
    header.set(f.name, "a-Name_1");
    break;
  case field_type::integer:
    header.set(f.name, f.max);
    break;
  case field_type::boolean:
    header.set(f.name, true);
    break;
  case field_type::text_map:
    header.set(f.name, fields{}.set("PATH_1", "/bin:ä"));
    break;
  case field_type::text_list:
    header.set(f.name, std::vector<std::string>{"output", "stderr"});
    break;
  }
}

void add_texts(std::vector<bad_value>& out, const field_spec& f) {
  auto add = [&](std::string fault, std::string value) {
    out.push_back({std::move(fault), fields{}.set(f.name, value)});
  };
  add("an empty string", "");
  if (f.type == field_type::name) {
    add("a name with a space", "a b");
    add("a name that is a path", "../a");
    add("a name beyond ASCII", "ä");
    add("a name of 65 bytes", std::string(65, 'x'));
  } else {
    add("a string with NUL", std::string{"a\0b", 3});
    add("a string too long", std::string(static_cast<size_t>(f.max) + 1, 'x'));
  }
}

void add_integers(std::vector<bad_value>& out, const field_spec& f) {
  out.push_back({"a fraction", fields{}.set(f.name, 1.5)});
  out.push_back({"a number in quotes", fields{}.set(f.name, "7")});
  out.push_back({"a number too large for 64 bits", fields{}.set(f.name, 1e30)});
  out.push_back({"a number below the least", fields{}.set(f.name, f.min - 1)});
  if (f.max != unbounded)
    out.push_back({"a number above the greatest", fields{}.set(f.name, f.max + 1)});
}

void add_maps(std::vector<bad_value>& out, const field_spec& f) {
  auto add = [&](std::string fault, const fields& value) {
    out.push_back({std::move(fault), fields{}.set(f.name, value)});
  };
  add("a variable that starts with a digit", fields{}.set("1A", "x"));
  add("a variable with =", fields{}.set("A=B", "x"));
  add("a variable without a name", fields{}.set("", "x"));
  add("a variable that is a number", fields{}.set("A", 1));
  add("a variable with NUL", fields{}.set("A", std::string_view{"x\0", 2}));
}

} // namespace

std::vector<bad_value> bad_values(const field_spec& f) {
  std::vector<bad_value> result;
  if (!f.nullable)
    result.push_back({"null", fields{}.set(f.name, nullptr)});
  if (f.type != field_type::integer)
    result.push_back({"a number", fields{}.set(f.name, 7)});
  if (f.type != field_type::boolean)
    result.push_back({"a boolean", fields{}.set(f.name, true)});
  if (f.type != field_type::text_map)
    result.push_back({"an object", fields{}.set(f.name, fields{})});
  result.push_back({"a list of objects", fields{}.set(f.name, std::vector<fields>{fields{}})});
  if (f.type == field_type::text || f.type == field_type::name)
    add_texts(result, f);
  else
    result.push_back({"a string", fields{}.set(f.name, "true")});
  if (f.type == field_type::integer)
    add_integers(result, f);
  if (f.type == field_type::text_map)
    add_maps(result, f);
  return result;
}

std::vector<field_spec> target_fields_of(const op_spec& spec) {
  std::vector<field_spec> result;
  if (spec.target != target_kind::none)
    result.push_back({"sandbox", field_type::text, false, 1, 64});
  if (spec.target == target_kind::any)
    for (auto name : {"thread", "user", "pool"})
      result.push_back({name, field_type::name});
  return result;
}

message minimal_request(const op_spec& spec) {
  message x;
  x.header.set("op", spec.name);
  if (spec.has_reply)
    x.header.set("id", "1");
  if (spec.target == target_kind::sandbox)
    x.header.set("sandbox", "2c26b46b");
  if (spec.target == target_kind::any)
    x.header.set("thread", "t");
  for (auto& f : spec.fields)
    if (f.required)
      set_valid(x.header, f);
  for (auto& p : spec.parts)
    if (p.required)
      x.add_part(p.name, blob::copy_of("true"));
  return x;
}

message full_request(const op_spec& spec) {
  message x;
  x.header.set("op", spec.name);
  if (spec.has_reply)
    x.header.set("id", std::string(max_request_id, 'i'));
  for (auto& f : target_fields_of(spec))
    if (f.name != "sandbox" || spec.target == target_kind::sandbox)
      set_valid(x.header, f);
  for (auto& f : spec.fields)
    set_valid(x.header, f);
  for (auto& p : spec.parts)
    x.add_part(p.name, blob::copy_of(std::string{"\0\xff ä\n", 6}.append(p.name)));
  return x;
}

} // namespace corral::test
