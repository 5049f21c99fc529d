#include "apps/cli/commands.hpp"
#include "apps/cli/terminal.hpp"
#include "apps/cli/transfer.hpp"

namespace corral::cli {

namespace {

message file_request(std::string_view op, const target& to, const std::string& path) {
  message r;
  r.header.set("op", op).set("path", path);
  set_target(r.header, to);
  return r;
}

cli_error with_hint(cli_error x) {
  if (x.code == "not_text")
    x.message += "; --raw fetches any file as it is";
  return x;
}

} // namespace

cli_result<int> read(daemon_client& client, const read_options& x, bool json) {
  auto r = file_request(x.raw ? "download_file" : "read_file", x.to, x.path);
  if (x.lines.first)
    r.header.set("start_line", *x.lines.first);
  if (x.lines.last)
    r.header.set("end_line", *x.lines.last);
  std::string text;
  auto keep = [&](std::string_view bytes) -> cli_result<void> {
    text.append(bytes);
    return {};
  };
  auto pass = [](std::string_view bytes) { return write_to(stream::out, bytes); };
  auto done = json ? download(client, std::move(r), keep) : download(client, std::move(r), pass);
  if (!done)
    return tl::unexpected{with_hint(done.error())};
  return json ? print_json(done->set("content", text)) : exit_ok;
}

cli_result<int> write(daemon_client& client, const write_options& x, bool json) {
  auto from = content::open(x.from, transfer_limit(client));
  if (!from)
    return tl::unexpected{from.error()};
  auto r = file_request("write_file", x.to, x.path);
  if (x.append)
    r.header.set("append", true);
  auto done = upload(client, std::move(r), *from);
  if (!done)
    return tl::unexpected{done.error()};
  return json ? print_json(*done) : exit_ok;
}

} // namespace corral::cli
