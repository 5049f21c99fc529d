#include "guest/files/path_resolver.hpp"

#include "guest/files/file_error.hpp"
#include "guest/files/open_beneath.hpp"

#include <fcntl.h>
#include <limits.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>

namespace corral::guest {

namespace {

constexpr size_t max_path = 4096;
constexpr int max_links = 40; // As the kernel's own.

/// What follows `prefix` in `path`; nothing if the path lies elsewhere.
std::optional<std::string_view> below(std::string_view path, std::string_view prefix) {
  if (prefix == "/")
    return path.substr(1);
  if (!path.starts_with(prefix))
    return std::nullopt;
  path.remove_prefix(prefix.size());
  if (path.empty() || path[0] == '/')
    return path;
  return std::nullopt;
}

const std::string& directory_of(const mount_point& x) {
  return x.directory.empty() ? x.path : x.directory;
}

bool is_number(std::string_view x) {
  return std::all_of(x.begin(), x.end(), [](char c) { return c >= '0' && c <= '9'; });
}

os_result<std::string> link_target(const unique_fd& link) {
  char target[PATH_MAX];
  auto n = ::readlinkat(link.get(), "", target, sizeof target);
  if (n < 0)
    return last_os_error("readlink");
  return std::string(target, static_cast<size_t>(n));
}

/// One lookup: `done_` holds real directories only, `todo_` what is still to be looked at.
class link_walk {
public:
  link_walk(const path_resolver& paths, const std::string& asked, purpose wanted)
      : paths_{paths}, asked_{asked}, wanted_{wanted} {}

  result<place> run();

private:
  result<void> enter(std::string_view path);
  bool take_whole();
  result<void> take_all();
  result<void> take_next();
  result<void> take_parent();
  result<void> take_missing();
  result<void> follow(const unique_fd& link);
  result<void> check_procfs() const;

  tl::unexpected<error> fail(int number) const { return file_failure(number, asked_); }

  const path_resolver& paths_;
  const std::string& asked_;
  purpose wanted_;
  const mount_point* mount_ = nullptr;
  unique_fd root_;
  std::vector<std::string> done_;
  std::deque<std::string> todo_;
  size_t missing_ = 0;
  int links_ = 0;
};

result<place> link_walk::run() {
  if (auto entered = enter(asked_); !entered)
    return tl::unexpected{entered.error()};
  if (auto taken = take_all(); !taken)
    return tl::unexpected{taken.error()};
  if (missing_ > 0 && wanted_ == purpose::read)
    return fail(ENOENT);
  if (auto checked = check_procfs(); !checked)
    return tl::unexpected{checked.error()};
  return place{std::move(root_), join_components(done_), missing_};
}

/// Starts at the root of the mount that a path lies in.
result<void> link_walk::enter(std::string_view path) {
  mount_ = paths_.mount_of(path);
  if (mount_ && wanted_ == purpose::change && !mount_->writable)
    return fail(EROFS);
  auto through_descriptor = mount_ && wanted_ == purpose::change && mount_->change_root;
  if (through_descriptor) {
    root_.reset(::fcntl(mount_->change_root->get(), F_DUPFD_CLOEXEC, 3));
    if (!root_)
      return fail(errno);
  } else {
    auto root = open_root(mount_ ? directory_of(*mount_) : "/");
    if (!root)
      return fail(root.error().number);
    root_ = std::move(*root);
  }
  auto rest = components_of(mount_ ? *below(path, mount_->path) : path);
  todo_.assign(rest.begin(), rest.end());
  done_.clear();
  missing_ = 0;
  return {};
}

result<void> link_walk::take_all() {
  for (;;) {
    if (!take_whole())
      while (!todo_.empty())
        if (auto taken = take_next(); !taken)
          return taken;
    if (mount_)
      return {};
    // A link from elsewhere may have led to a mount, whose rules hold from there on.
    auto reached = "/" + (done_.empty() ? "" : join_components(done_));
    if (!paths_.mount_of(reached))
      return {};
    if (auto entered = enter(reached); !entered)
      return entered;
  }
}

/// The common case, in one system call: everything is there and nothing is a link.
bool link_walk::take_whole() {
  std::vector<std::string> all{todo_.begin(), todo_.end()};
  auto fd = open_beneath(root_, join_components(all), O_PATH);
  if (!fd)
    return false;
  auto x = stat_of(*fd);
  if (!x || S_ISLNK(x->st_mode))
    return false;
  done_ = std::move(all);
  todo_.clear();
  return true;
}

result<void> link_walk::take_next() {
  auto name = std::move(todo_.front());
  todo_.pop_front();
  if (name == "..")
    return take_parent();
  done_.push_back(std::move(name));
  auto fd = open_beneath(root_, join_components(done_), O_PATH);
  if (!fd && fd.error().number == ENOENT)
    return take_missing();
  if (!fd)
    return fail(fd.error().number);
  auto x = stat_of(*fd);
  if (!x)
    return fail(x.error().number);
  return S_ISLNK(x->st_mode) ? follow(*fd) : result<void>{};
}

result<void> link_walk::take_parent() {
  if (!done_.empty())
    done_.pop_back();
  else if (mount_)
    return fail(EXDEV);
  return {};
}

result<void> link_walk::take_missing() {
  if (std::find(todo_.begin(), todo_.end(), "..") != todo_.end())
    return fail(ENOENT);
  missing_ = 1 + todo_.size();
  std::move(todo_.begin(), todo_.end(), std::back_inserter(done_));
  todo_.clear();
  return {};
}

result<void> link_walk::follow(const unique_fd& link) {
  if (++links_ > max_links)
    return fail(ELOOP);
  if (is_on_procfs(link))
    return fail(EACCES);
  auto target = link_target(link);
  if (!target)
    return fail(target.error().number);
  done_.pop_back();
  std::string_view rest = *target;
  if (rest.starts_with('/')) {
    if (mount_) {
      auto inside = below(rest, mount_->path);
      if (!inside)
        inside = below(rest, directory_of(*mount_));
      if (!inside)
        return fail(EXDEV);
      rest = *inside;
    }
    done_.clear();
  }
  auto names = components_of(rest);
  todo_.insert(todo_.begin(), names.begin(), names.end());
  return {};
}

/// The guest's own entries would hand out its memory, and a number there may be the guest's.
result<void> link_walk::check_procfs() const {
  if (mount_ || missing_ > 0)
    return {};
  auto fd = open_beneath(root_, join_components(done_), O_PATH);
  if (!fd)
    return fail(fd.error().number);
  if (!is_on_procfs(*fd))
    return {};
  if (wanted_ == purpose::change)
    return fail(EROFS);
  return std::any_of(done_.begin(), done_.end(), is_number) ? fail(EACCES) : result<void>{};
}

} // namespace

std::vector<std::string> components_of(std::string_view path) {
  std::vector<std::string> result;
  while (!path.empty()) {
    auto name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    if (!name.empty() && name != ".")
      result.emplace_back(name);
  }
  return result;
}

std::string join_components(const std::vector<std::string>& names) {
  std::string result;
  for (auto& x : names)
    result.append(result.empty() ? "" : "/").append(x);
  return result.empty() ? "." : result;
}

result<std::string> path_resolver::normalise(std::string_view requested) const {
  if (requested.empty())
    return failure(errc::invalid_request, "the path is empty");
  if (requested.size() > max_path || requested.find('\0') != std::string_view::npos)
    return failure(errc::invalid_request, "a path has at most 4096 bytes and no NUL");
  auto whole = requested[0] == '/' ? std::string{requested}
                                   : settings_.workspace + "/" + std::string{requested};
  std::vector<std::string> names;
  for (auto& x : components_of(whole))
    if (x != "..")
      names.push_back(std::move(x));
    else if (!names.empty())
      names.pop_back();
  return names.empty() ? "/" : "/" + join_components(names);
}

result<place> path_resolver::resolve(const std::string& path, purpose wanted) const {
  return link_walk{*this, path, wanted}.run();
}

const mount_point* path_resolver::mount_of(std::string_view path) const {
  const mount_point* best = nullptr;
  for (auto& x : settings_.mounts)
    if (below(path, x.path) && (!best || x.path.size() > best->path.size()))
      best = &x;
  return best;
}

std::vector<mount_point> standard_mounts(std::shared_ptr<const unique_fd> uploads) {
  auto can_upload = uploads != nullptr;
  return {{"/mnt/user-data/workspace", "", true, nullptr},
          {"/mnt/user-data/uploads", "", can_upload, std::move(uploads)},
          {"/mnt/user-data/outputs", "", true, nullptr},
          {"/mnt/skills", "", false, nullptr},
          {"/mnt/acp-workspace", "", true, nullptr}};
}

} // namespace corral::guest
