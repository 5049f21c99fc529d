#include "messages/wire/ops.hpp"

#include "messages/wire/names.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace corral {

namespace {

using enum field_type;

constexpr int64_t any_int = std::numeric_limits<int64_t>::max();
constexpr int64_t path_max = 4096;

constexpr field_spec path_field{"path", text, true, 1, path_max};
constexpr field_spec file_timeout{"timeout_ms", integer, false, 1, max_timeout_ms};
constexpr field_spec wait_limit{"queue_ms", integer, false, 0, max_timeout_ms};
constexpr field_spec all_entries{"all", boolean};

constexpr field_spec hello_fields[] = {{"client", text, false, 1, 128},
                                       {"instance", text, false, 1, 128},
                                       {"heartbeat_ms", integer, false, 0, max_heartbeat_ms}};
constexpr field_spec acquire_fields[] = {{"thread", name, false, 0, 0, true},
                                         {"user", name},
                                         {"pool", name},
                                         {"wait_ms", integer, false, 0, max_timeout_ms}};
constexpr field_spec release_fields[] = {
    {"sandbox", text, false, 1, 64}, {"lease", text, false, 1, 64}, {"all", boolean}};
constexpr field_spec destroy_fields[] = {{"force", boolean}, {"purge", boolean}};
constexpr field_spec list_fields[] = {
    {"pool", name}, {"state", text, false, 1, 16}, {"user", name}};
constexpr field_spec exec_fields[] = {{"want", text_list},
                                      {"timeout_ms", integer, false, 1, max_timeout_ms},
                                      wait_limit,
                                      {"env", text_map},
                                      {"cwd", text, false, 1, path_max},
                                      {"stream", boolean},
                                      {"stdin_open", boolean},
                                      {"max_output_chars", integer, false, 0, 1 << 30},
                                      {"key", text, false, 1, 128}};
constexpr field_spec input_fields[] = {{"request", text, true, 1, max_request_id},
                                       {"eof", boolean}};
constexpr field_spec cancel_fields[] = {{"request", text, false, 1, max_request_id},
                                        {"sandbox", text, false, 1, 64}};
constexpr field_spec result_fields[] = {{"key", text, false, 1, 128},
                                        {"request", text, false, 1, max_request_id},
                                        {"want", text_list},
                                        {"max_output_chars", integer, false, 0, 1 << 30}};
constexpr field_spec read_fields[] = {path_field,
                                      {"start_line", integer, false, 1, any_int},
                                      {"end_line", integer, false, 0, any_int},
                                      file_timeout,
                                      wait_limit};
constexpr field_spec download_fields[] = {path_field,
                                          {"offset", integer, false, 0, any_int},
                                          {"length", integer, false, 0, any_int},
                                          file_timeout,
                                          wait_limit};
constexpr field_spec write_fields[] = {path_field,
                                       {"append", boolean},
                                       {"size", integer, false, 0, any_int},
                                       file_timeout,
                                       wait_limit};
constexpr field_spec update_fields[] = {
    path_field, {"size", integer, false, 0, any_int}, file_timeout, wait_limit};
constexpr field_spec replace_fields[] = {
    path_field, {"replace_all", boolean}, file_timeout, wait_limit};
constexpr field_spec list_dir_fields[] = {
    path_field, {"max_depth", integer, false, 1, 64}, all_entries, file_timeout, wait_limit};
constexpr field_spec glob_fields[] = {path_field,
                                      {"pattern", text, true, 1, path_max},
                                      {"include_dirs", boolean},
                                      {"max_results", integer, false, 1, 100'000},
                                      all_entries,
                                      file_timeout,
                                      wait_limit};
constexpr field_spec grep_fields[] = {path_field,
                                      {"pattern", text, true, 1, path_max},
                                      {"glob", text, false, 1, path_max},
                                      {"literal", boolean},
                                      {"case_sensitive", boolean},
                                      {"max_results", integer, false, 1, 100'000},
                                      all_entries,
                                      file_timeout,
                                      wait_limit};
constexpr field_spec data_fields[] = {
    {"re", text, true, 1, max_request_id}, {"seq", integer, true, 0, any_int}, {"eof", boolean}};
constexpr field_spec ack_fields[] = {{"re", text, true, 1, max_request_id},
                                     {"seq", integer, true, 0, any_int}};

constexpr part_spec exec_parts[] = {{"command", true}, {"stdin"}};
constexpr part_spec input_parts[] = {{"stdin"}};
constexpr part_spec content_parts[] = {{"content"}};
constexpr part_spec replace_parts[] = {{"old", true}, {"new", true}};

constexpr auto no_target = target_kind::none;
constexpr auto sandbox_only = target_kind::sandbox;
constexpr auto any_target = target_kind::any;

// id, name, target, in_guest, file, raw, has_reply, fields, parts
constexpr op_spec specs[] = {
    {op::hello, "hello", no_target, false, false, false, true, hello_fields, {}},
    {op::ping, "ping", no_target, false, false, false, true, {}, {}},
    {op::acquire, "acquire", no_target, false, false, false, true, acquire_fields, {}},
    {op::get, "get", sandbox_only, false, false, false, true, {}, {}},
    {op::release, "release", no_target, false, false, false, true, release_fields, {}},
    {op::destroy, "destroy", sandbox_only, false, false, false, true, destroy_fields, {}},
    {op::list, "list", no_target, false, false, false, true, list_fields, {}},
    {op::exec, "exec", any_target, true, false, false, true, exec_fields, exec_parts},
    {op::input, "input", no_target, false, false, true, true, input_fields, input_parts},
    {op::cancel, "cancel", no_target, false, false, false, true, cancel_fields, {}},
    {op::reset_session, "reset_session", any_target, true, false, false, true, {}, {}},
    {op::result, "result", target_kind::optional, true, false, false, true, result_fields, {}},
    {op::read_file, "read_file", any_target, true, true, false, true, read_fields, {}},
    {op::download_file, "download_file", any_target, true, true, false, true, download_fields, {}},
    {op::write_file, "write_file", any_target, true, true, false, true, write_fields,
     content_parts},
    {op::update_file, "update_file", any_target, true, true, false, true, update_fields,
     content_parts},
    {op::str_replace, "str_replace", any_target, true, true, false, true, replace_fields,
     replace_parts},
    {op::list_dir, "list_dir", any_target, true, true, false, true, list_dir_fields, {}},
    {op::glob, "glob", any_target, true, true, false, true, glob_fields, {}},
    {op::grep, "grep", any_target, true, true, false, true, grep_fields, {}},
    {op::stats, "stats", no_target, false, false, false, true, {}, {}},
    {op::reload, "reload", no_target, false, false, false, true, {}, {}},
    {op::data, "data", no_target, false, false, true, false, data_fields, {}},
    {op::ack, "ack", no_target, false, false, false, false, ack_fields, {}},
};

std::string quoted(std::string_view x) {
  constexpr size_t shown = 64;
  std::string result = "\"";
  result.append(x.substr(0, shown));
  return result + (x.size() > shown ? "...\"" : "\"");
}

tl::unexpected<error> invalid(const op_spec& spec, const std::string& text) {
  return failure(errc::invalid_request, std::string{spec.name} + ": " + text);
}

/// "did you mean", if a known word is near enough to be meant.
std::string suggestion(std::string_view unknown, const std::vector<std::string>& known) {
  auto best = nearest(unknown, known);
  auto far =
      unknown.size() > 64 || edit_distance(unknown, best) > std::max<size_t>(unknown.size() / 2, 1);
  return best.empty() || far ? "" : "; did you mean " + quoted(best) + "?";
}

std::string range_of(const field_spec& f, std::string_view unit) {
  auto result = "from " + std::to_string(f.min) + " to ";
  result += f.max == any_int ? "2^63-1" : std::to_string(f.max);
  return result.append(unit);
}

/// What the field should have been; empty if it is.
std::string fault_of_text(const field_spec& f, const fields& x) {
  auto value = x.text(f.name);
  if (!value)
    return "a string";
  auto size = static_cast<int64_t>(value->size());
  if (size < f.min || size > f.max)
    return "a string " + range_of(f, " bytes long");
  return value->find('\0') != std::string::npos ? "a string without NUL" : "";
}

std::string fault_of_map(const field_spec& f, const fields& x) {
  auto map = x.object(f.name);
  if (!map)
    return "an object of strings";
  for (auto& key : map->names()) {
    if (!is_environment_name(key))
      return "names that match [A-Za-z_][A-Za-z0-9_]*, not " + quoted(key);
    auto value = map->text(key);
    if (!value || value->find('\0') != std::string::npos)
      return "a string without NUL for " + quoted(key);
  }
  return "";
}

std::string fault_of(const field_spec& f, const fields& x) {
  switch (f.type) {
  case field_type::text:
    return fault_of_text(f, x);
  case field_type::name:
    return is_valid_name(x.text(f.name).value_or("")) ? ""
                                                      : "a name that matches [A-Za-z0-9_-]{1,64}";
  case field_type::integer: {
    auto value = x.integer(f.name);
    return value && *value >= f.min && *value <= f.max ? "" : "a whole number " + range_of(f, "");
  }
  case field_type::boolean:
    return x.flag(f.name) ? "" : "true or false";
  case field_type::text_map:
    return fault_of_map(f, x);
  case field_type::text_list:
    return x.texts(f.name) ? "" : "a list of strings";
  }
  return "";
}

bool takes_threads(const op_spec& spec) {
  return spec.target == target_kind::any || spec.target == target_kind::optional;
}

std::vector<std::string> known_fields(const op_spec& spec) {
  std::vector<std::string> result;
  for (auto& f : spec.fields)
    result.emplace_back(f.name);
  if (spec.target != target_kind::none)
    result.push_back("sandbox");
  if (takes_threads(spec))
    result.insert(result.end(), {"thread", "user", "pool"});
  return result;
}

result<void> check_fields(const op_spec& spec, const fields& x) {
  for (auto& f : spec.fields) {
    if (!x.has(f.name) || (f.nullable && x.is_null(f.name))) {
      if (f.required)
        return invalid(spec, "the field " + quoted(f.name) + " is missing");
      continue;
    }
    if (auto expected = fault_of(f, x); !expected.empty())
      return invalid(spec, std::string{f.name} + " must be " + expected);
  }
  auto known = known_fields(spec);
  for (auto& given : x.names())
    if (std::find(known.begin(), known.end(), given) == known.end())
      return invalid(spec, "unknown field " + quoted(given) + suggestion(given, known));
  return {};
}

result<void> check_parts(const op_spec& spec, const message& x) {
  for (auto& given : x.parts) {
    auto known = std::any_of(spec.parts.begin(), spec.parts.end(),
                             [&](auto& p) { return p.name == given.name; });
    if (given.name.empty() && !spec.raw)
      return invalid(spec, "the header's parts must say what the payload is");
    if (!given.name.empty() && !known)
      return invalid(spec, "it takes no part " + quoted(given.name));
  }
  for (auto& p : spec.parts)
    if (p.required && !x.has_part(p.name))
      return invalid(spec, "the part " + quoted(p.name) + " is missing");
  return {};
}

result<target> take_target(const op_spec& spec, fields& x) {
  target to;
  if (spec.target == target_kind::none)
    return to;
  constexpr field_spec sandbox{"sandbox", text, false, 1, 64};
  if (x.has("sandbox")) {
    if (auto expected = fault_of(sandbox, x); !expected.empty())
      return invalid(spec, "sandbox must be " + expected);
    to.sandbox = *x.text("sandbox");
  }
  for (auto [field, slot] : {std::pair{"thread", &to.thread}, std::pair{"user", &to.user},
                             std::pair{"pool", &to.pool}}) {
    if (!takes_threads(spec) || !x.has(field))
      continue;
    if (auto expected = fault_of({field, field_type::name}, x); !expected.empty())
      return invalid(spec, std::string{field} + " must be " + expected);
    *slot = *x.text(field);
  }
  if (to.empty() && spec.target != target_kind::optional)
    return invalid(spec, spec.target == target_kind::any
                             ? "name its target with \"thread\" or \"sandbox\""
                             : "the field \"sandbox\" is missing");
  if (!to.sandbox.empty() && !to.thread.empty())
    return invalid(spec, "give either \"thread\" or \"sandbox\", not both");
  x.erase("sandbox");
  if (takes_threads(spec))
    x.erase("thread").erase("user").erase("pool");
  return to;
}

} // namespace

std::span<const op_spec> all_ops() {
  return specs;
}

const op_spec& spec_of(op id) {
  return *std::find_if(std::begin(specs), std::end(specs), [&](auto& s) { return s.id == id; });
}

const op_spec* find_op(std::string_view name) {
  auto i =
      std::find_if(std::begin(specs), std::end(specs), [&](auto& s) { return s.name == name; });
  return i != std::end(specs) ? &*i : nullptr;
}

result<request> check_request(message x) {
  auto name = x.header.text("op");
  if (!name)
    return failure(errc::invalid_request, "the header has no \"op\"");
  request r;
  r.spec = find_op(*name);
  if (!r.spec) {
    std::vector<std::string> known;
    for (auto& s : specs)
      known.emplace_back(s.name);
    return failure(errc::invalid_request, "unknown op " + quoted(*name) + suggestion(*name, known));
  }
  r.id = x.header.text("id").value_or("");
  if (r.spec->has_reply && (r.id.empty() || r.id.size() > max_request_id))
    return invalid(*r.spec, "id must be a string from 1 to 128 bytes long");
  x.header.erase("op").erase("id");
  auto to = take_target(*r.spec, x.header);
  if (!to)
    return tl::unexpected{to.error()};
  r.to = std::move(*to);
  if (auto checked = check_fields(*r.spec, x.header); !checked)
    return tl::unexpected{checked.error()};
  if (auto checked = check_parts(*r.spec, x); !checked)
    return tl::unexpected{checked.error()};
  r.body = std::move(x);
  return r;
}

} // namespace corral
