#include "actors/exec_queue.hpp"

#include <algorithm>
#include <set>

namespace corral {

bool exec_queue::add(entry x) {
  // One that starts at once never waits, so it needs no place in the queue.
  auto starts = has_place_for(x) && std::none_of(waiting_.begin(), waiting_.end(), [&](auto& w) {
                  return w.client == x.client || (w.serial && x.serial);
                });
  if (!starts && waiting_.size() >= limits_.waiting)
    return false;
  waiting_.push_back(std::move(x));
  return true;
}

bool exec_queue::has_place_for(const entry& x) const {
  return x.serial ? !exec_ : running_.size() - (exec_ ? 1 : 0) < limits_.parallel;
}

std::vector<exec_queue::ticket_id> exec_queue::take_startable() {
  std::vector<ticket_id> result;
  std::set<std::string_view> held; // Clients with an earlier request that still waits.
  bool exec_held = false;
  std::deque<entry> rest;
  for (auto& x : waiting_) {
    if (has_place_for(x) && !held.contains(x.client) && !(x.serial && exec_held)) {
      running_.emplace(x.ticket, x.serial);
      if (x.serial)
        exec_ = x.ticket;
      result.push_back(x.ticket);
    } else {
      exec_held |= x.serial;
      rest.push_back(std::move(x));
      held.insert(rest.back().client);
    }
  }
  waiting_ = std::move(rest);
  return result;
}

void exec_queue::finish(ticket_id ticket) {
  running_.erase(ticket);
  if (exec_ == ticket)
    exec_.reset();
}

bool exec_queue::remove(ticket_id ticket) {
  return std::erase_if(waiting_, [&](auto& x) { return x.ticket == ticket; }) > 0;
}

std::vector<exec_queue::ticket_id> exec_queue::take_expired(time_point now) {
  std::vector<ticket_id> result;
  std::erase_if(waiting_, [&](auto& x) {
    if (!x.deadline || *x.deadline > now)
      return false;
    result.push_back(x.ticket);
    return true;
  });
  return result;
}

std::vector<exec_queue::ticket_id> exec_queue::take_waiting() {
  std::vector<ticket_id> result;
  for (auto& x : waiting_)
    result.push_back(x.ticket);
  waiting_.clear();
  return result;
}

std::optional<exec_queue::time_point> exec_queue::next_deadline() const {
  std::optional<time_point> result;
  for (auto& x : waiting_)
    if (x.deadline && (!result || *x.deadline < *result))
      result = x.deadline;
  return result;
}

} // namespace corral
