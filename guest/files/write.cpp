// write_file and update_file.

#include "guest/files/file_call.hpp"
#include "guest/files/staged_file.hpp"

namespace corral::guest {

namespace {

/// How long the content will be, if the request says so.
std::optional<uint64_t> announced_size(const file_call& call) {
  if (auto size = call.header.integer("size"))
    return static_cast<uint64_t>(*size);
  return call.header.has("parts") ? stated_total(call.header) : std::nullopt;
}

result<void> check_size(const file_call& call, uint64_t size) {
  auto limit = call.settings.transfer_max_bytes;
  if (size <= limit)
    return {};
  fields details;
  details.set("limit", limit);
  return failure(errc::file_too_large,
                 "more than the " + std::to_string(limit)
                     + " bytes of one transfer, write it in parts with append: " + call.path,
                 details);
}

tl::unexpected<error> wrong_size(const file_call& call, uint64_t announced, uint64_t received) {
  return call.fail(errc::invalid_request, std::to_string(announced) + " bytes were announced and "
                                              + std::to_string(received) + " came");
}

/// All of the payload; the number of its bytes.
result<uint64_t> receive(file_call& call, staged_file& content, std::optional<uint64_t> announced) {
  uint64_t received = 0;
  for (;;) {
    if (auto checked = call.check(); !checked)
      return tl::unexpected{checked.error()};
    auto piece = call.in->next();
    if (!piece)
      return tl::unexpected{piece.error()};
    received += piece->size();
    if (announced && (received > *announced || (piece->empty() && received < *announced)))
      return wrong_size(call, *announced, received);
    if (piece->empty())
      return received;
    if (auto checked = check_size(call, received); !checked)
      return tl::unexpected{checked.error()};
    if (auto written = content.write(piece->view()); !written)
      return tl::unexpected{written.error()};
  }
}

result<void> write(file_call& call, bool append) {
  auto announced = announced_size(call);
  if (auto checked = check_size(call, announced.value_or(0)); !checked)
    return checked;
  auto to = destination::open(call);
  if (!to)
    return tl::unexpected{to.error()};
  auto content = staged_file::create(call, *to);
  if (!content)
    return tl::unexpected{content.error()};
  auto received = receive(call, *content, announced);
  if (!received)
    return tl::unexpected{received.error()};
  if (auto checked = call.check(); !checked)
    return checked;
  auto committed = append ? content->commit_append() : content->commit();
  if (committed)
    call.out->finish(make_reply(fields{}.set("bytes", *received)));
  return committed;
}

} // namespace

result<void> write_file(file_call& call) {
  return write(call, call.flag("append"));
}

result<void> update_file(file_call& call) {
  return write(call, false);
}

} // namespace corral::guest
