#include "guest/dispatcher.hpp"

#include <algorithm>

namespace corral::guest {

namespace {

tl::unexpected<error> malformed(const std::string& text) {
  return failure(errc::invalid_request, "guest link: " + text);
}

} // namespace

result<void> dispatcher::take(frame x) {
  auto re = x.header.integer("re").value_or(0);
  if (re <= 0)
    return malformed("a frame without a valid re");
  auto name = x.header.text("op");
  if (!name)
    return assemble(re, std::move(x));
  if (*name == "credit") {
    out_.credit(re,
                static_cast<uint64_t>(std::max<int64_t>(x.header.integer("bytes").value_or(0), 0)));
    return {};
  }
  if (*name == "ack") {
    execs_.acknowledge(
        re, static_cast<uint64_t>(std::max<int64_t>(x.header.integer("seq").value_or(0), 0)));
    return {};
  }
  if (*name == "cancel") {
    cancel(re);
    return {};
  }
  return begin(re, std::move(x));
}

result<void> dispatcher::begin(int64_t re, frame x) {
  if (requests_.contains(re) || calls_.contains(re))
    return malformed("a request's re is in use");
  auto spec = find_op(*x.header.text("op"));
  if (spec && spec->file)
    return begin_file_operation(*spec, re, std::move(x));
  requests_.emplace(re, frame_assembler{});
  return assemble(re, std::move(x));
}

result<void> dispatcher::begin_file_operation(const op_spec& spec, int64_t re, frame x) {
  auto total = stated_total(x.header);
  if (!total)
    return malformed("parts must be a list of [name, bytes]");
  if (!files_) {
    out_.send(re, make_reply(error{errc::invalid_request, "file operations aren't served", {}}));
    return {};
  }
  auto timeout = x.header.integer("timeout_ms").value_or(default_file_timeout_ms);
  auto call = std::make_shared<operation_call>(
      loop_, out_, re, *total,
      std::chrono::milliseconds{std::clamp<int64_t>(timeout, 1, max_timeout_ms)},
      [this, re] { calls_.erase(re); });
  calls_.emplace(re, call);
  auto taken = call->take(std::move(x.payload));
  x.header.erase("op").erase("re").erase("more");
  files_->submit(spec, std::move(x.header), call, call);
  return taken;
}

result<void> dispatcher::assemble(int64_t re, frame x) {
  if (auto call = calls_.find(re); call != calls_.end())
    return call->second->take(std::move(x.payload));
  auto i = requests_.find(re);
  if (i == requests_.end())
    return {}; // The rest of a request that has been answered already.
  auto more = has_more(x.header);
  auto size = x.payload.size();
  auto whole = i->second.add(std::move(x));
  if (!whole)
    return tl::unexpected{whole.error()};
  if (more) {
    out_.grant_peer(re, size);
    return {};
  }
  requests_.erase(i);
  serve(re, **whole);
  return {};
}

void dispatcher::serve(int64_t re, const message& x) {
  auto name = x.header.text("op").value_or("");
  if (name == "exec")
    return execs_.exec(re, x);
  if (name == "input")
    return execs_.input(re, x);
  if (name == "result")
    return execs_.retained(re, x);
  if (name == "attach")
    return execs_.attach(re);
  if (name == "reset_session")
    return execs_.reset_session(re);
  if (name == "ping")
    return out_.send(re, make_reply());
  out_.send(re, make_reply(error{errc::invalid_request, "the guest doesn't serve this op", {}}));
}

void dispatcher::cancel(int64_t re) {
  if (auto i = calls_.find(re); i != calls_.end())
    return i->second->stop(true);
  execs_.cancel(re);
}

void dispatcher::disconnected() {
  requests_.clear();
  for (auto& [re, call] : calls_)
    call->stop(false);
  calls_.clear();
  execs_.disconnected();
  out_.clear();
}

} // namespace corral::guest
