// grep and glob: what a sandbox's files hold and are called.

#include "apps/cli/commands.hpp"
#include "apps/cli/terminal.hpp"

namespace corral::cli {

namespace {

message search_request(std::string_view op, const search_options& x) {
  message r;
  r.header.set("op", op).set("pattern", x.pattern).set("path", x.path);
  set_target(r.header, x.to);
  if (x.most)
    r.header.set("max_results", *x.most);
  if (x.all)
    r.header.set("all", true);
  return r;
}

/// A row as a line: names and content are an agent's, so a terminal gets neither's control
/// characters.
std::string line_of(const fields& row) {
  auto line = row.text("path").value_or("");
  if (auto number = row.integer("line_number"))
    line += ":" + std::to_string(*number) + ":" + row.text("line").value_or("");
  return (is_terminal(stream::out) ? printable(line) : line) + "\n";
}

void tell_rest(const fields& x) {
  if (x.flag("truncated") == true)
    notice("there is more: raise --max-results, or search less");
  if (auto files = x.integer("skipped_files").value_or(0); files > 0)
    notice(std::to_string(files) + " files were not searched: not text, too large or not readable");
  if (auto lines = x.integer("skipped_lines").value_or(0); lines > 0)
    notice(std::to_string(lines) + " lines were not searched: too long");
}

cli_result<int> search(daemon_client& client, message request, const char* rows_name, bool json) {
  auto reply = client.call(std::move(request));
  if (!reply)
    return tl::unexpected{reply.error()};
  auto rows = rows_of(*reply);
  auto status = rows.empty() ? exit_check_failed : exit_ok;
  if (json)
    return print_json(reply->header.erase("parts").set(rows_name, rows), status);
  std::string text;
  for (auto& row : rows)
    text += line_of(row);
  if (auto written = write_to(stream::out, text); !written)
    return tl::unexpected{written.error()};
  tell_rest(reply->header);
  return status;
}

} // namespace

cli_result<int> grep(daemon_client& client, const grep_options& x, bool json) {
  auto r = search_request("grep", x.search);
  r.header.set("literal", x.literal).set("case_sensitive", x.case_sensitive);
  if (!x.files.empty())
    r.header.set("glob", x.files);
  return search(client, std::move(r), "matches", json);
}

cli_result<int> glob(daemon_client& client, const glob_options& x, bool json) {
  auto r = search_request("glob", x.search);
  r.header.set("include_dirs", x.directories);
  return search(client, std::move(r), "found", json);
}

} // namespace corral::cli
