#include "guest/event_loop.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace corral::guest {

event_loop::watch& event_loop::watch::operator=(watch&& other) noexcept {
  if (this != &other) {
    reset();
    loop_ = std::exchange(other.loop_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

void event_loop::watch::want(uint32_t events) {
  if (!loop_)
    return;
  epoll_event event{events, {.u64 = id_}};
  ::epoll_ctl(loop_->epoll_.get(), EPOLL_CTL_MOD, loop_->entries_.at(id_)->fd, &event);
}

void event_loop::watch::reset() {
  auto* loop = std::exchange(loop_, nullptr);
  if (!loop)
    return;
  auto i = loop->entries_.find(id_);
  ::epoll_ctl(loop->epoll_.get(), EPOLL_CTL_DEL, i->second->fd, nullptr);
  loop->entries_.erase(i);
}

event_loop::timer& event_loop::timer::operator=(timer&& other) noexcept {
  if (this != &other) {
    reset();
    loop_ = std::exchange(other.loop_, nullptr);
    key_ = other.key_;
  }
  return *this;
}

void event_loop::timer::reset() {
  if (auto* loop = std::exchange(loop_, nullptr))
    loop->timers_.erase(key_);
}

event_loop::event_loop()
    : epoll_{::epoll_create1(EPOLL_CLOEXEC)}, wakeup_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (!epoll_ || !wakeup_)
    std::abort();
  wakeup_watch_ = watch_fd(wakeup_, EPOLLIN, [this](uint32_t) { run_posted(); });
}

event_loop::watch event_loop::watch_fd(const unique_fd& fd, uint32_t events,
                                       ready_handler on_ready) {
  auto id = next_id_++;
  epoll_event event{events, {.u64 = id}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0)
    return {};
  entries_.emplace(id, std::make_shared<entry>(entry{fd.get(), std::move(on_ready)}));
  return {this, id};
}

event_loop::timer event_loop::at(time_point when, task on_due) {
  std::pair key{when, next_id_++};
  timers_.emplace(key, std::move(on_due));
  return {this, key};
}

void event_loop::on_child_exit(task handler) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_)
    std::abort();
  signal_watch_ = watch_fd(signals_, EPOLLIN, [this, handler = std::move(handler)](uint32_t) {
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) > 0) {
    }
    handler();
  });
}

void event_loop::post(task work) {
  {
    std::lock_guard lock{mutex_};
    posted_.push_back(std::move(work));
  }
  uint64_t one = 1;
  [[maybe_unused]] auto n = ::write(wakeup_.get(), &one, sizeof one);
}

void event_loop::run_posted() {
  uint64_t count = 0;
  [[maybe_unused]] auto n = ::read(wakeup_.get(), &count, sizeof count);
  std::vector<task> work;
  {
    std::lock_guard lock{mutex_};
    work.swap(posted_);
  }
  for (auto& x : work)
    x();
}

void event_loop::run() {
  stopped_ = false;
  while (!stopped_)
    turn(time_point::max());
}

bool event_loop::run_until(const std::function<bool()>& done, clock::duration limit) {
  auto end = now() + limit;
  while (!done() && now() < end)
    turn(end);
  return done();
}

void event_loop::turn(time_point latest) {
  std::array<epoll_event, 16> events;
  auto n = ::epoll_wait(epoll_.get(), events.data(), events.size(), wait_ms(latest));
  for (int i = 0; i < n; ++i) {
    // Looked up anew for each event: a handler may have ended a watch further down the list.
    auto found = entries_.find(events[static_cast<size_t>(i)].data.u64);
    if (found == entries_.end())
      continue;
    auto keep_alive = found->second;
    keep_alive->on_ready(events[static_cast<size_t>(i)].events);
  }
  run_due_timers();
}

int event_loop::wait_ms(time_point latest) const {
  auto next = timers_.empty() ? latest : std::min(latest, timers_.begin()->first.first);
  if (next == time_point::max())
    return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

void event_loop::run_due_timers() {
  while (!timers_.empty() && timers_.begin()->first.first <= now()) {
    auto due = timers_.extract(timers_.begin());
    due.mapped()();
  }
}

} // namespace corral::guest
