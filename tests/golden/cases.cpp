#include "tests/golden/cases.hpp"

#include "messages/wire/frame.hpp"
#include "tests/support/sample_requests.hpp"

namespace corral::test {

namespace {

constexpr size_t shown_bytes = 300; // Longer faults are left to the unit tests.

std::vector<golden_case> accepted() {
  std::vector<golden_case> result;
  for (auto& spec : all_ops()) {
    result.push_back({std::string{spec.name} + " minimal", minimal_request(spec)});
    result.push_back({std::string{spec.name} + " full", full_request(spec)});
  }
  auto raw = minimal_request(spec_of(op::input));
  raw.add_part("", blob::copy_of({"raw\0\xff", 5}));
  result.push_back({"input with a payload that no parts describe", raw});
  auto by_sandbox = minimal_request(spec_of(op::exec));
  by_sandbox.header.erase("thread").set("sandbox", "2c26b46b68ffc68f");
  result.push_back({"exec by sandbox", by_sandbox});
  auto odd = minimal_request(spec_of(op::read_file));
  odd.header.set("path", "/mnt/\"quoted\"\\\b\f\n\r\t\x01\x1f\x7f/ä/漢/😀");
  result.push_back({"read_file of a path with every kind of character", odd});
  auto anonymous = minimal_request(spec_of(op::acquire));
  anonymous.header.set("thread", nullptr);
  result.push_back({"acquire anonymous", anonymous});
  return result;
}

void add_refused(std::vector<golden_case>& out, const op_spec& spec) {
  std::string op{spec.name};
  auto add = [&](std::string fault, message x) {
    if (x.header.dump().size() <= shown_bytes)
      out.push_back({op + " with " + std::move(fault), std::move(x)});
  };
  for (auto& f : spec.fields)
    for (auto& bad : bad_values(f)) {
      auto x = minimal_request(spec);
      x.header.merge(bad.value);
      add(std::string{f.name} + " as " + bad.fault, std::move(x));
    }
  for (auto& name : minimal_request(spec).header.names()) {
    auto x = minimal_request(spec);
    x.header.erase(name);
    add("no " + name, std::move(x));
  }
  for (auto& p : spec.parts) {
    auto x = minimal_request(spec);
    x.parts.clear();
    if (p.required)
      add("no part " + std::string{p.name}, std::move(x));
  }
  auto unknown = minimal_request(spec);
  unknown.header.set("tread", "t");
  add("an unknown field", std::move(unknown));
  auto part = minimal_request(spec);
  part.add_part("results", blob::copy_of("x"));
  add("a part it doesn't take", std::move(part));
}

std::vector<golden_case> refused() {
  std::vector<golden_case> result;
  for (auto& spec : all_ops())
    add_refused(result, spec);
  auto both = minimal_request(spec_of(op::exec));
  both.header.set("sandbox", "2c26b46b");
  result.push_back({"exec with two targets", both});
  message unknown;
  unknown.header.set("op", "exce").set("id", "1");
  result.push_back({"an unknown op", unknown});
  result.push_back({"an empty header", {}});
  return result;
}

message answer(const fields& result) {
  auto x = make_reply(result);
  x.header.set("re", "1");
  return x;
}

message exec_reply() {
  fields result;
  result.set("exit_code", 3).set("timed_out", false).set("cancelled", false);
  result.set("duration_ms", 12).set("queued_ms", 0).set("cwd", "/mnt/user-data/workspace");
  result.set("stdout_bytes", 4).set("stderr_bytes", 2).set("truncated", false);
  result.set("origin", "active").set("session", 1);
  auto x = answer(result);
  x.add_part("output", blob::copy_of("out\n\nStd Error:\n\xff\n\nExit Code: 3"));
  x.add_part("stdout", blob::copy_of("out\n"));
  return x.add_part("stderr", blob::copy_of("\xff\n"));
}

message lines_reply(const std::vector<fields>& lines, const fields& result = {}) {
  auto x = answer(result);
  std::string text;
  for (auto& line : lines)
    text += line.dump() + "\n";
  return x.add_part("results", blob::take(std::move(text)));
}

message content_reply(std::string_view content, const fields& result = {}) {
  return answer(result).add_part("content", blob::copy_of(content));
}

std::vector<golden_case> file_replies() {
  auto listing = lines_reply({fields{}.set("path", "/mnt/a").set("type", "directory"),
                              fields{}.set("path", "/mnt/a/ä").set("type", "file").set("size", 3)});
  auto paths = lines_reply({fields{}.set("path", "/mnt/a")}, fields{}.set("truncated", true));
  auto lines = lines_reply(
      {fields{}.set("path", "/mnt/a").set("line_number", 7).set("line", "int main() {")},
      fields{}.set("truncated", false));
  return {{"read_file", content_reply("line\n")},
          {"download_file", content_reply({"\0\xff", 2}, fields{}.set("size", 2).set(
                                                             "sha256", std::string(64, '0')))},
          {"write_file", answer(fields{}.set("bytes", 5))},
          {"update_file", answer(fields{}.set("bytes", 0))},
          {"str_replace", answer(fields{}.set("replacements", 2))},
          {"list_dir", listing},
          {"glob", paths},
          {"grep", lines}};
}

std::vector<golden_case> pool_replies() {
  fields acquired;
  acquired.set("sandbox", "2c26b46b68ffc68f").set("lease", "l1").set("origin", "created");
  acquired.set("session", 1).set("provider", "namespace").set("capabilities", fields{});
  auto limits = fields{}.set("header", fields::max_bytes).set("payload", max_payload_bytes);
  auto hello = fields{}.set("server", "corrald 0.1.0").set("boot", "b1").set("limits", limits);
  return {{"hello", answer(hello.set("pools", std::vector<std::string>{"default"}))},
          {"ping", answer(fields{}.set("boot", "b1").set("now", 1.5))},
          {"acquire", answer(acquired)},
          {"get of an unknown id", answer(fields{}.set("found", false))},
          {"release", answer(fields{}.set("leases", 0).set("state", "parked"))},
          {"destroy", answer(fields{}.set("destroyed", true))},
          {"list", lines_reply({fields{}.set("sandbox", "2c26b46b68ffc68f")})},
          {"input", answer(fields{}.set("bytes", 3))},
          {"cancel", answer(fields{}.set("cancelled", true))},
          {"reset_session", answer(fields{}.set("session", 2))}};
}

std::vector<golden_case> replies() {
  std::vector<golden_case> result{{"exec", exec_reply()}};
  for (auto& more : {pool_replies(), file_replies()})
    result.insert(result.end(), more.begin(), more.end());
  for (auto i = static_cast<int>(errc::invalid_request); i <= static_cast<int>(errc::internal);
       ++i) {
    error failed{static_cast<errc>(i), "what went wrong", fields{}.set("started", "unknown")};
    auto x = make_reply(failed);
    x.header.set("re", "1");
    result.push_back({"error " + std::string{to_string(failed.code)}, x});
  }
  error lost{errc::sandbox_lost, "it died first", fields{}.set("started", false)};
  auto x = make_reply(lost);
  x.header.set("re", "1");
  result.push_back({"error sandbox_lost before the start", x});
  return result;
}

message event(const fields& more) {
  message x;
  x.header.set("re", "1").merge(more);
  return x;
}

std::vector<golden_case> events() {
  auto chunk = fields{}.set("event", "chunk").set("stream", "stdout").set("seq", 4);
  chunk.set("offset", 32768);
  auto with_gap = chunk;
  with_gap.set("gap", 1000);
  auto content = chunk;
  content.set("stream", "content");
  auto bytes = blob::copy_of({"\0\xff\n", 3});
  return {{"queued", event(fields{}.set("event", "queued"))},
          {"started", event(fields{}.set("event", "started"))},
          {"credit", event(fields{}.set("event", "credit").set("bytes", 1048576))},
          {"chunk", event(chunk).add_part("", bytes)},
          {"chunk after a gap", event(with_gap).add_part("", bytes)},
          {"chunk of a large reply", event(content).add_part("", bytes)}};
}

} // namespace

std::vector<golden_file> golden_files() {
  return {{"accepted", true, accepted()},
          {"refused", true, refused()},
          {"replies", false, replies()},
          {"events", false, events()}};
}

std::string golden_line(const golden_case& x, bool is_request) {
  auto header = x.what.encode_header();
  auto payload = x.what.encode_payload();
  fields line;
  line.set("name", x.name).set("header", fields::parse(header).value());
  line.set("payload", to_hex(payload.view()));
  auto frame = encode_frame_head(header, payload.size()).append(payload.view());
  line.set("frame", to_hex(frame));
  if (is_request) {
    auto checked = check_request(x.what);
    line.set("accepted", checked.has_value());
    if (!checked)
      line.set("error", checked.error().message);
  }
  return line.dump();
}

std::string to_hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (unsigned char c : bytes) {
    result += digits[c >> 4];
    result += digits[c & 15];
  }
  return result;
}

std::string from_hex(std::string_view digits) {
  std::string result;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    result += static_cast<char>(std::stoi(std::string{digits.substr(i, 2)}, nullptr, 16));
  return result;
}

} // namespace corral::test
