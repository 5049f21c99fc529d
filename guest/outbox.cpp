#include "guest/outbox.hpp"

namespace corral::guest {

void outbox::send(int64_t re, const message& x) {
  if (x.header.has("event")) { // Small, and in front of the reply that follows it.
    frame_sender event{re, x};
    while (auto next = event.next())
      write_(std::move(next->first), std::move(next->second));
    return;
  }
  replies_.insert_or_assign(re, reply{frame_sender{re, x}, nullptr, false, {}});
  pump();
}

void outbox::begin(int64_t re, const fields& header, uint64_t total, progress on_progress) {
  replies_.insert_or_assign(
      re, reply{frame_sender{re, header, total}, std::move(on_progress), true, {}});
  pump();
}

void outbox::push(int64_t re, blob piece) {
  auto i = replies_.find(re);
  if (i == replies_.end() || piece.size() > i->second.sender.expected())
    return;
  if (piece.size() == i->second.sender.expected())
    i->second.last_piece = std::move(piece);
  else
    i->second.sender.push(std::move(piece));
  pump();
}

void outbox::end(int64_t re, const fields& trailer) {
  auto i = replies_.find(re);
  if (i == replies_.end())
    return;
  i->second.open = false;
  i->second.sender.set_trailer(trailer);
  i->second.sender.push(std::move(i->second.last_piece));
  pump();
}

void outbox::credit(int64_t re, uint64_t bytes) {
  if (auto i = replies_.find(re); i != replies_.end()) {
    i->second.sender.grant(bytes);
    pump();
  }
}

void outbox::pump() {
  // Ends once every reply in turn had nothing to write.
  for (size_t without = 0; ready_() && without < replies_.size();) {
    auto i = replies_.upper_bound(last_);
    if (i == replies_.end())
      i = replies_.begin();
    last_ = i->first;
    without = write_one(i) ? 0 : without + 1;
  }
}

bool outbox::write_one(std::map<int64_t, reply>::iterator i) {
  auto& sender = i->second.sender;
  if (i->second.open && sender.expected() == 0 && sender.buffered() == 0)
    return false; // Empty: its only frame is its last.
  auto next = sender.next();
  if (!next)
    return false;
  auto bytes = next->second.size();
  auto on_progress = i->second.on_progress;
  if (sender.done())
    replies_.erase(i);
  write_(std::move(next->first), std::move(next->second));
  if (on_progress && bytes > 0)
    on_progress(bytes);
  return true;
}

} // namespace corral::guest
