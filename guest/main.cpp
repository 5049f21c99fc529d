// corral-guest: the agent inside a sandbox.

#include "guest/files/file_service.hpp"
#include "guest/link.hpp"
#include "guest/options.hpp"
#include "guest/process_setup.hpp"
#include "os/random.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <optional>

namespace corral::guest {

namespace {

std::vector<std::string> shell_environment() {
  std::vector<std::string> result;
  auto buffered = true;
  for (auto* x = environ; *x; ++x) {
    result.emplace_back(*x);
    buffered &= std::strncmp(*x, "PYTHONUNBUFFERED=", 17) != 0;
  }
  if (buffered) // Without a terminal a program's last words before a timeout would be lost.
    result.emplace_back("PYTHONUNBUFFERED=1");
  return result;
}

shell_settings settings_for_shell(const guest_options& options) {
  shell_settings x;
  x.programs = options.shells;
  x.control = options.control;
  x.workspace = options.workspace;
  x.environment = shell_environment();
  x.descriptor_limit = raise_descriptor_limit();
  return x;
}

exec_service::settings settings_from(const fields& limits) {
  exec_service::settings x;
  auto chars = limits.integer("max_output_chars");
  if (chars && *chars >= 0)
    x.max_output_chars = static_cast<size_t>(*chars);
  if (auto ttl = limits.integer("result_ttl_ms"); ttl && *ttl > 0)
    x.keys.ttl = std::chrono::milliseconds{*ttl};
  if (auto keys = limits.integer("keys"); keys && *keys > 0)
    x.keys.keys = static_cast<size_t>(*keys);
  if (auto memory = limits.integer("result_memory"); memory && *memory >= 0)
    x.keys.memory = static_cast<size_t>(*memory);
  return x;
}

file_settings settings_for_files(const guest_options& options,
                                 std::shared_ptr<const unique_fd> uploads, const fields& limits) {
  file_settings x;
  x.workspace = options.workspace;
  x.mounts = standard_mounts(std::move(uploads));
  if (auto bytes = limits.integer("transfer_max_bytes"); bytes && *bytes >= 0)
    x.transfer_max_bytes = static_cast<uint64_t>(*bytes);
  return x;
}

int serve(guest_options options) {
  auto secret = take_secret(options.secret);
  close_descriptors_except({options.uploads.get(), options.connected.get()});
  harden_process();
  keep_heap_small();
  event_loop loop;
  auto uploads =
      options.uploads ? std::make_shared<const unique_fd>(std::move(options.uploads)) : nullptr;
  std::optional<file_service> files; // Once the daemon has told its limits.
  shell_session session{loop, settings_for_shell(options)};
  loop.on_child_exit([&] { session.reap(); });

  daemon_link* wire = nullptr;
  outbox out{
      [&](std::string head, blob payload) { wire->write(std::move(head), std::move(payload)); },
      [&] { return wire->writable(); }};
  exec_service execs{loop, session, [&](int64_t re, message x) { out.send(re, x); }};
  dispatcher requests{loop, execs, out};
  daemon_link link{loop,
                   {options.socket, options.id, secret, random_hex(16), options.orphan_timeout},
                   requests,
                   out,
                   {[&] {
                      return fields{}
                          .set("session", session.session())
                          .set("running", execs.running())
                          .set("running_key", execs.running_key())
                          .set("running_ms_left", execs.running_left().count())
                          .set("keys", execs.keys());
                    },
                    [&](const fields& limits) {
                      execs.configure(settings_from(limits));
                      if (!files)
                        requests.serve_files(
                            files.emplace(settings_for_files(options, uploads, limits)));
                    },
                    [&] { loop.stop(); }}};
  wire = &link;
  if (auto started = session.start(); !started)
    std::fprintf(stderr, "corral-guest: %s\n", started.error().message.c_str());
  options.connected ? link.adopt(std::move(options.connected)) : link.dial();
  loop.run();
  requests.disconnected();
  end_all_processes();
  return 0;
}

} // namespace

} // namespace corral::guest

int main(int argc, char** argv) {
  auto options = corral::guest::parse_options(argc, argv);
  if (!options) {
    std::fprintf(stderr, "corral-guest: %s\n", options.error().c_str());
    return 2;
  }
  return corral::guest::serve(std::move(*options));
}
