#include "actors/guest_link.hpp"

#include "os/socket.hpp"

#include <fcntl.h>

namespace corral {

namespace {

// Reads of this size keep an idle link small; inside a frame larger ones save calls.
constexpr size_t idle_read = 4 * 1024;
constexpr size_t frame_read = 64 * 1024;
constexpr size_t spare_write_buffer = 16 * 1024;

} // namespace

guest_link_broker::behavior_type guest_link(guest_link_state::pointer self, endpoint_ptr where,
                                            fields limits, sandbox_actor owner) {
  return self->state.make_behavior(self, where, std::move(limits), std::move(owner));
}

guest_link_broker::behavior_type guest_link_state::make_behavior(pointer self,
                                                                 const endpoint_ptr& where,
                                                                 fields limits,
                                                                 sandbox_actor owner) {
  self_ = self;
  owner_ = std::move(owner);
  guest_pid_ = where->guest_pid;
  protocol_.emplace(link_protocol::settings{where->id, where->secret, std::move(limits)});
  self_->monitor(owner_);
  self_->set_down_handler([this](caf::down_msg&) { self_->quit(); });
  door_ = self_->add_doorman(::fcntl(where->listener->get(), F_DUPFD_CLOEXEC, 3));
  return {
    [this](send_atom, const message_ptr& x) { apply(protocol_->send(*x)); },
    [this](data_atom, ticket_id re, const blob& piece, bool) { apply(protocol_->data(re, piece)); },
    [this](credit_atom, ticket_id re, uint64_t bytes) { apply(protocol_->grant(re, bytes)); },
    [this](const caf::io::new_connection_msg& x) { accept(x.handle); },
    [this](const caf::io::acceptor_closed_msg&) {},
    [this](caf::io::new_data_msg& x) { receive(x); },
    [this](const caf::io::connection_closed_msg& x) {
      if (x.handle == guest_)
        self_->quit(caf::exit_reason::remote_link_unreachable);
    },
  };
}

void guest_link_state::accept(caf::io::connection_handle connection) {
  auto peer = peer_of(static_cast<int>(connection.id()));
  auto expected = peer && (guest_pid_ == 0 || peer->pid == guest_pid_);
  if (guest_ != caf::io::connection_handle{} || !expected) {
    self_->close(connection); // Agent code can dial too; it is not the recorded process.
    return;
  }
  guest_ = connection;
  self_->close(door_);
  self_->configure_read(guest_, caf::io::receive_policy::at_most(read_limit_ = idle_read));
  for (auto& x : std::exchange(early_, {}))
    write(x);
  self_->flush(guest_);
}

void guest_link_state::receive(caf::io::new_data_msg& x) {
  if (x.handle != guest_)
    return;
  auto out = protocol_->receive(blob::take(std::move(x.buf)));
  if (!out)
    return self_->quit(caf::exit_reason::remote_link_unreachable);
  apply(std::move(*out));
  auto limit = protocol_->missing() > 0 ? frame_read : idle_read;
  if (limit != read_limit_)
    self_->configure_read(guest_, caf::io::receive_policy::at_most(read_limit_ = limit));
}

void guest_link_state::apply(link_protocol::outcome out) {
  for (auto& x : out.bytes)
    write(x);
  if (!out.bytes.empty() && guest_ != caf::io::connection_handle{})
    self_->flush(guest_);
  if (out.hello)
    self_->send(owner_, up_atom::value, fields_ptr{std::make_shared<const fields>(*out.hello)});
  for (auto& x : out.messages)
    self_->send(owner_, answer_atom::value,
                message_ptr{std::make_shared<const message>(std::move(x))});
}

void guest_link_state::write(const blob& bytes) {
  if (guest_ == caf::io::connection_handle{}) {
    early_.push_back(bytes);
    return;
  }
  auto& buffer = self_->wr_buf(guest_);
  if (buffer.empty() && buffer.capacity() > spare_write_buffer)
    std::vector<char>{}.swap(buffer);
  self_->write(guest_, bytes.size(), bytes.data());
}

} // namespace corral
