#include "actors/guest_link.hpp"

#include "os/socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace corral {

namespace {

constexpr size_t read_bytes = 16 * 1024; // Of a large payload the rest is read to its place.
constexpr int reads_a_turn = 4;          // Then it is the turn of other links.
constexpr size_t pieces_a_write = 16;

} // namespace

guest_link_actor::behavior_type
guest_link(guest_link_actor::stateful_pointer<guest_link_state> self, io_loop* loop,
           endpoint_ptr where, fields limits, sandbox_actor owner) {
  return self->state.make_behavior(*loop, where, std::move(limits), std::move(owner));
}

guest_link_actor::behavior_type guest_link_state::make_behavior(io_loop& loop,
                                                                const endpoint_ptr& where,
                                                                fields limits,
                                                                sandbox_actor owner) {
  loop_ = &loop;
  owner_ = std::move(owner);
  guest_pid_ = where->guest_pid;
  protocol_.emplace(link_protocol::settings{where->id, where->secret, std::move(limits)});
  self_->monitor(owner_);
  self_->set_down_handler([this](caf::down_msg&) { self_->quit(); });
  watch(door_, unique_fd{::fcntl(where->listener->get(), F_DUPFD_CLOEXEC, 3)},
        &guest_link_state::accept);
  return {
      [this](send_atom, const message_ptr& x) { apply(protocol_->send(std::move(*x))); },
      [this](data_atom, ticket_id re, const blob& piece, bool) {
        apply(protocol_->data(re, piece));
      },
      [this](credit_atom, ticket_id re, uint64_t bytes) { apply(protocol_->grant(re, bytes)); },
      [this](gone_atom) { self_->quit(caf::exit_reason::remote_link_unreachable); },
  };
}

guest_link_state::~guest_link_state() {
  close(door_);
  close(guest_);
}

void guest_link_state::watch(watched& x, unique_fd fd,
                             void (guest_link_state::*ready)(io_loop::readiness)) {
  x.fd = std::move(fd);
  x.id = loop_->watch(x.fd.get(), [this, ready](io_loop::readiness r) { (this->*ready)(r); });
}

void guest_link_state::close(watched& x) {
  if (!x.fd)
    return;
  loop_->unwatch(x.id);
  x.fd.reset();
}

void guest_link_state::accept(io_loop::readiness) {
  unique_fd fd{::accept4(door_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  if (!fd)
    return;
  auto peer = peer_of(fd.get());
  if (!peer || (guest_pid_ != 0 && peer->pid != guest_pid_))
    return; // Agent code can dial too; it is not the recorded process.
  close(door_);
  watch(guest_, std::move(fd), &guest_link_state::ready);
  flush();
}

void guest_link_state::ready(io_loop::readiness x) {
  // What the guest wrote before it hung up counts, so reading comes first.
  if ((x.readable || x.broken) && !receive())
    return end();
  if (x.writable)
    flush();
}

/// False once the connection has ended or can't be trusted.
bool guest_link_state::receive() {
  std::array<char, read_bytes> buffer;
  for (int i = 0; i < reads_a_turn; ++i) {
    auto place = protocol_->space();
    auto direct = !place.empty();
    if (!direct)
      place = buffer;
    auto n = ::recv(guest_.fd.get(), place.data(), place.size(), 0);
    if (n < 0)
      return errno == EAGAIN || errno == EINTR;
    if (n == 0)
      return false;
    auto bytes = static_cast<size_t>(n);
    auto out = direct ? protocol_->received(bytes)
                      : protocol_->receive(blob::copy_of({place.data(), bytes}));
    if (!out)
      return false;
    apply(std::move(*out));
    if (bytes < place.size() && !direct)
      return true; // That was all; asking again would only say so.
  }
  return true;
}

void guest_link_state::apply(link_protocol::outcome out) {
  std::move(out.bytes.begin(), out.bytes.end(), std::back_inserter(unsent_));
  if (!out.bytes.empty())
    flush();
  if (out.hello)
    self_->send(owner_, up_atom::value, fields_ptr{std::make_shared<const fields>(*out.hello)});
  for (auto& x : out.messages)
    self_->send(owner_, answer_atom::value, message_ptr{std::make_shared<message>(std::move(x))});
}

/// Writes what the socket takes and waits for the rest's turn; before the guest has dialled, all
/// waits.
void guest_link_state::flush() {
  while (guest_.fd && !unsent_.empty()) {
    std::array<iovec, pieces_a_write> pieces;
    auto count = std::min(unsent_.size(), pieces.size());
    for (size_t i = 0; i < count; ++i)
      pieces[i] = {const_cast<char*>(unsent_[i].data()), unsent_[i].size()};
    pieces[0] = {static_cast<char*>(pieces[0].iov_base) + written_, pieces[0].iov_len - written_};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    auto n = ::sendmsg(guest_.fd.get(), &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && errno == EAGAIN)
      return loop_->want_writable(guest_.id, true);
    if (n < 0)
      return end();
    written_ += static_cast<size_t>(n);
    while (!unsent_.empty() && written_ >= unsent_.front().size()) {
      written_ -= unsent_.front().size();
      unsent_.pop_front();
      if (unsent_.empty())
        loop_->want_writable(guest_.id, false);
    }
  }
}

} // namespace corral
