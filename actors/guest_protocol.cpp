#include "actors/guest_protocol.hpp"

namespace corral {

namespace {

int64_t timeout_ms(const request& r, const request_defaults& defaults) {
  auto fallback = r.spec->file ? defaults.file_timeout_ms : defaults.exec_timeout_ms;
  return r.body.header.integer("timeout_ms").value_or(fallback);
}

} // namespace

message to_guest(const request& r, uint64_t re, const request_defaults& defaults) {
  message x = r.body;
  x.header.set("op", r.spec->name).set("re", re);
  x.header.erase("queue_ms");
  if (r.spec->id != op::reset_session)
    x.header.set("timeout_ms", timeout_ms(r, defaults));
  if (is_streamed_write(r))
    x.header.set("parts", std::vector<std::pair<std::string, uint64_t>>{
                              {"content", static_cast<uint64_t>(*r.body.header.integer("size"))}});
  return x;
}

std::chrono::milliseconds timeout_of(const request& r, const request_defaults& defaults) {
  return std::chrono::milliseconds{timeout_ms(r, defaults)};
}

bool is_streamed_write(const request& r) {
  return r.body.header.integer("size").has_value() && !r.body.has_part("content");
}

message cancelled_before_start(std::chrono::milliseconds queued) {
  fields x;
  x.set("exit_code", nullptr).set("timed_out", false).set("cancelled", true);
  x.set("duration_ms", 0).set("queued_ms", queued.count());
  x.set("stdout_bytes", 0).set("stderr_bytes", 0).set("truncated", false);
  auto reply = make_reply(x);
  reply.add_part("output", blob::copy_of("Command cancelled."));
  reply.add_part("stdout", {}).add_part("stderr", {});
  return reply;
}

error left_running(bool started) {
  return {errc::shutting_down,
          started
              ? "the daemon has ended; the command goes on, and its result waits if it has a key"
              : "the daemon is shutting down",
          fields{}.set("started", started)};
}

error unknown_sandbox() {
  return {errc::sandbox_not_found, "no pool holds a sandbox with this id", {}};
}

error lost(std::string_view started, std::string_view cause) {
  error x{errc::sandbox_lost, "the sandbox ended: " + std::string{cause}, {}};
  if (started == "unknown")
    x.details.set("started", "unknown");
  else
    x.details.set("started", started == "true");
  return x;
}

} // namespace corral
