#include "apps/cli/doctor.hpp"

#include "apps/cli/commands.hpp"
#include "apps/cli/terminal.hpp"
#include "config/system_sources.hpp"

#include <algorithm>

namespace corral::cli {

namespace {

std::string_view to_string(verdict x) {
  return x == verdict::ok ? "ok" : x == verdict::warn ? "warn" : "FAIL";
}

std::string coloured(verdict x, bool colour) {
  std::string text{to_string(x)};
  auto padding = std::string(4 - text.size(), ' ');
  if (!colour)
    return text + padding;
  auto code = x == verdict::ok ? "32" : x == verdict::warn ? "33" : "31";
  return "\x1b[" + std::string{code} + "m" + text + "\x1b[0m" + padding;
}

std::string to_line(const finding& x, bool colour) {
  auto line = coloured(x.is, colour) + "  " + printable(x.subject) + ": " + printable(x.text);
  return line + (x.fix.empty() ? "\n" : "\n      fix: " + printable(x.fix) + "\n");
}

fields to_fields(const finding& x) {
  fields row;
  row.set("subject", x.subject).set("verdict", to_string(x.is)).set("text", x.text);
  return row.set("fix", x.fix);
}

findings check_all(const doctor_options& x) {
  auto result = check_machine();
  auto add = [&](const findings& more) { result.insert(result.end(), more.begin(), more.end()); };
  add(check_installation());
  auto file = x.config_file.empty() ? std::nullopt : std::optional{x.config_file};
  auto configured = load_config(system_sources(file, {}));
  if (configured)
    add(check_directories(*configured));
  else
    for (auto& e : configured.error())
      result.push_back({"configuration", verdict::fail, corral::to_string(e),
                        "correct it; corrald --check-config checks it alone"});
  auto endpoint = x.endpoint.empty() && configured ? "ipc://" + configured->socket : x.endpoint;
  if (!endpoint.empty())
    result.push_back(check_daemon(endpoint));
  return result;
}

} // namespace

cli_result<int> doctor(const doctor_options& x, bool json) {
  auto found = check_all(x);
  auto bad = std::any_of(found.begin(), found.end(),
                         [](const finding& f) { return f.is == verdict::fail; });
  int status = bad ? exit_check_failed : exit_ok;
  if (json) {
    std::vector<fields> rows;
    for (auto& f : found)
      rows.push_back(to_fields(f));
    return print_json(fields{}.set("checks", rows).set("healthy", !bad), status);
  }
  std::string text;
  for (auto& f : found)
    text += to_line(f, wants_colour(stream::out));
  return write_to(stream::out, text).map([status] { return status; });
}

} // namespace corral::cli
