// cp: one file from here to a sandbox or back.

#include "apps/cli/commands.hpp"
#include "apps/cli/local_file.hpp"
#include "apps/cli/progress.hpp"
#include "apps/cli/terminal.hpp"
#include "apps/cli/transfer.hpp"
#include "guest/files/sha256.hpp"

#include <filesystem>

namespace corral::cli {

namespace {

constexpr auto stdio = "-";

std::string last_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// Where a file called `name` goes that is copied to `path`, a directory or not.
std::string place_in(const std::string& path, bool is_directory, const std::string& name) {
  if (!is_directory)
    return path;
  return path.empty() || path.ends_with('/') ? path + name : path + "/" + name;
}

cli_error with_advice(cli_error x) {
  if (x.code == "is_a_directory" || x.message.ends_with("Is a directory"))
    x.message += "; cp copies one file. A path that ends with / is a directory to copy into; for "
                 "whole directories use tar, as `corral cp --help` shows";
  return x;
}

message file_request(std::string_view op, const copy_options& x, const std::string& path) {
  message r;
  r.header.set("op", op).set("path", path);
  set_target(r.header, x.to);
  return r;
}

/// The size of a sandbox's file; nothing if that can't be known, which the download will explain.
std::optional<uint64_t> size_of(daemon_client& client, const copy_options& x) {
  auto r = file_request("download_file", x, x.path);
  r.header.set("length", 0);
  auto reply = client.call(std::move(r));
  auto size = reply ? reply->header.integer("size") : std::nullopt;
  return size ? std::optional{static_cast<uint64_t>(*size)} : std::nullopt;
}

/// Takes the whole file; `corrupted` if size or checksum are not what the sandbox states.
cli_result<fields> fetch(daemon_client& client, const copy_options& x, bool shown,
                         const byte_sink& sink) {
  progress bar{x.path, shown ? size_of(client, x) : std::nullopt, shown};
  guest::sha256 sum;
  int64_t bytes = 0;
  auto take = [&](std::string_view piece) {
    sum.update(piece);
    bytes += static_cast<int64_t>(piece.size());
    bar.advance(piece.size());
    return sink(piece);
  };
  auto done = download(client, file_request("download_file", x, x.path), take);
  if (!done)
    return done;
  auto digest = sum.hex();
  if (done->integer("size") != bytes || done->text("sha256") != digest)
    return failed("corrupted", "what arrived is not what the sandbox sent: copy it again");
  return fields{}.set("bytes", bytes).set("sha256", digest);
}

cli_result<fields> fetch_to_file(daemon_client& client, const copy_options& x, bool shown) {
  auto path = place_in(x.local, std::filesystem::is_directory(x.local), last_name(x.path));
  auto file = local_file::create(path);
  if (!file)
    return tl::unexpected{file.error()};
  auto done = fetch(client, x, shown, [&](std::string_view piece) { return file->write(piece); });
  if (!done)
    return done;
  if (auto named = file->commit(); !named)
    return tl::unexpected{named.error()};
  return done->set("path", path);
}

cli_result<fields> send(daemon_client& client, const copy_options& x, bool shown) {
  auto from = content::open(x.local == stdio ? "" : x.local, transfer_limit(client));
  if (!from)
    return tl::unexpected{from.error()};
  auto is_directory = x.path.empty() || x.path.ends_with('/');
  auto path = place_in(x.path, is_directory, last_name(x.local));
  progress bar{path, from->size(), shown};
  auto done = upload(client, file_request("write_file", x, path), *from,
                     [&](uint64_t bytes) { bar.advance(bytes); });
  if (!done)
    return done;
  if (done->integer("bytes") != static_cast<int64_t>(from->size()))
    return failed("corrupted", "the sandbox did not take the whole file: copy it again");
  return done->erase("re").erase("ok").set("path", path);
}

} // namespace

cli_result<int> copy(daemon_client& client, interrupts* signals, const copy_options& x, bool json) {
  client.interrupt_by(signals);
  auto to_stdout = !x.upload && x.local == stdio;
  auto shown = !json && is_terminal(stream::err) && !(to_stdout && is_terminal(stream::out));
  auto pass = [](std::string_view piece) { return write_to(stream::out, piece); };
  auto done = x.upload    ? send(client, x, shown)
              : to_stdout ? fetch(client, x, shown, pass)
                          : fetch_to_file(client, x, shown);
  if (!done)
    return tl::unexpected{with_advice(done.error())};
  return json && !to_stdout ? print_json(*done) : exit_ok;
}

} // namespace corral::cli
