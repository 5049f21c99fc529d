#include "providers/namespace/owner_dirs.hpp"

#include "os/files.hpp"
#include "os/groups.hpp"
#include "os/random.hpp"
#include "providers/namespace/paths.hpp"
#include "providers/namespace/tree_removal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace corral::jail {

namespace {

namespace fs = std::filesystem;

constexpr mode_t parent_mode = 0711;

os_result<struct stat> stat_of(const unique_fd& fd) {
  struct stat s {};
  if (::fstat(fd.get(), &s) != 0)
    return last_os_error("stat directory");
  return s;
}

os_result<unique_fd> make_and_open(const unique_fd& parent, const std::string& name, mode_t mode) {
  auto made = ::mkdirat(parent.get(), name.c_str(), mode) == 0;
  if (!made && errno != EEXIST)
    return last_os_error("make directory", name);
  auto fd = open_beneath(parent, name);
  // The umask may have taken bits.
  if (fd && made && ::chmod(self_fd_path(fd->get()).c_str(), mode) != 0)
    return last_os_error("chmod", name);
  return fd;
}

std::set<uid_t> taken_uids(const fs::path& data_dir) {
  std::set<uid_t> result;
  auto entries = [](const fs::path& path) {
    std::error_code ignored;
    return fs::directory_iterator{path, ignored};
  };
  auto note = [&](const fs::path& tree) {
    struct stat s {};
    if (::lstat((tree / "user-data").c_str(), &s) == 0)
      result.insert(s.st_uid);
  };
  for (auto& user : entries(data_dir / "users"))
    for (auto& thread : entries(user.path() / "threads"))
      note(thread.path());
  for (auto& tree : entries(data_dir / "anonymous"))
    note(tree.path());
  return result;
}

} // namespace

os_result<owner_dirs> owner_dirs::open(const namespace_settings& settings, std::string instance) {
  owner_dirs result;
  result.instance_ = std::move(instance);
  result.as_root_ = ::geteuid() == 0;
  result.data_gid_ = ::getegid();
  if (result.as_root_ && !settings.data_group.empty()) {
    if (auto group = group_id(settings.data_group))
      result.data_gid_ = *group;
    else
      result.warnings_.push_back("there is no group '" + settings.data_group
                                 + "' (data_group): owners' files get our own group instead");
  }
  std::error_code failure;
  if (fs::create_directories(settings.data_dir, failure); failure)
    return os_failure(failure.value(), "make directory", settings.data_dir.native());
  for (auto name : {"users", "anonymous"})
    if (auto made = make_directory(settings.data_dir / name, parent_mode); !made)
      return tl::unexpected{made.error()};
  if (auto made = make_directory(settings.data_dir / "trash", 0700); !made)
    return tl::unexpected{made.error()};
  result.root_.reset(::open(settings.data_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!result.root_)
    return last_os_error("open", settings.data_dir.native());
  auto trash = open_beneath(result.root_, "trash");
  if (!trash)
    return tl::unexpected{trash.error()};
  result.trash_ = std::move(*trash);
  result.uids_ =
      std::make_unique<uid_pool>(settings.data_dir / ".uids", settings.first_uid, settings.last_uid,
                                 [data_dir = settings.data_dir] { return taken_uids(data_dir); });
  return result;
}

std::vector<std::string> owner_dirs::place_of(const sandbox_spec& spec) const {
  if (spec.anonymous)
    return {"anonymous", instance_ + "." + spec.id};
  return {"users", spec.who.user, "threads", spec.who.thread};
}

/// Walks down, making what is missing. Everything above an owner's directories is ours: whoever
/// owned one of them could swap what is below.
os_result<unique_fd> owner_dirs::enter(const std::vector<std::string>& place) const {
  unique_fd at;
  for (auto& name : place) {
    auto next = make_and_open(at ? at : root_, name, parent_mode);
    if (!next)
      return next;
    auto s = stat_of(*next);
    if (!s)
      return tl::unexpected{s.error()};
    if (s->st_uid != ::geteuid())
      return os_failure(EPERM, "use a data directory that isn't ours:", name);
    at = std::move(*next);
  }
  return at;
}

os_result<void> owner_dirs::give_to(const unique_fd& directory, uid_t uid) const {
  auto mode = as_root_ ? mode_t{02770} : mode_t{0700};
  auto s = stat_of(directory);
  if (!s)
    return tl::unexpected{s.error()};
  auto gid = as_root_ ? data_gid_ : s->st_gid;
  if ((s->st_uid != uid || s->st_gid != gid)
      && ::fchownat(directory.get(), "", uid, gid, AT_EMPTY_PATH) != 0)
    return last_os_error("chown directory");
  // After the owner, because changing that clears the set-id bits.
  if ((s->st_uid != uid || s->st_gid != gid || (s->st_mode & 07777) != mode)
      && ::chmod(self_fd_path(directory.get()).c_str(), mode) != 0)
    return last_os_error("chmod directory");
  return {};
}

/// The uid that `user_data` belongs to; a new one is given away first.
os_result<uid_t> owner_dirs::claim(const unique_fd& user_data) const {
  auto s = stat_of(user_data);
  if (!s)
    return tl::unexpected{s.error()};
  auto uid = s->st_uid;
  if (as_root_ && uid == 0)
    return uids_->take([&](uid_t fresh) { return give_to(user_data, fresh); });
  if (as_root_ ? !uids_->contains(uid) : uid != ::geteuid())
    return os_failure(EOWNERDEAD, "use a data directory of uid", std::to_string(uid));
  return give_to(user_data, uid).map([&] { return uid; });
}

os_result<unique_fd> owner_dirs::leaf(const unique_fd& parent, const std::string& name,
                                      uid_t uid) const {
  auto fd = make_and_open(parent, name, 0700);
  if (!fd)
    return fd;
  if (auto given = give_to(*fd, uid); !given)
    return tl::unexpected{given.error()};
  return fd;
}

os_result<owner_tree> owner_dirs::prepare(const sandbox_spec& spec) const {
  auto top = enter(place_of(spec));
  if (!top)
    return tl::unexpected{top.error()};
  auto user_data = make_and_open(*top, "user-data", 0700);
  if (!user_data)
    return tl::unexpected{user_data.error()};
  auto uid = claim(*user_data);
  if (!uid)
    return tl::unexpected{uid.error()};
  owner_tree result;
  result.uid = *uid;
  auto open_leaf = [&](const unique_fd& parent, const char* name, unique_fd& into) {
    return leaf(parent, name, *uid).map([&](unique_fd&& fd) { into = std::move(fd); });
  };
  auto opened =
      open_leaf(*user_data, "workspace", result.workspace)
          .and_then([&] { return open_leaf(*user_data, "uploads", result.uploads); })
          .and_then([&] { return open_leaf(*user_data, "outputs", result.outputs); })
          .and_then([&] { return open_leaf(*top, "acp-workspace", result.acp_workspace); });
  if (!opened)
    return tl::unexpected{opened.error()};
  return result;
}

os_result<void> owner_dirs::purge(const sandbox_spec& spec, std::chrono::milliseconds limit) const {
  auto place = place_of(spec);
  auto name = place.back();
  place.pop_back();
  std::string relative;
  for (auto& part : place)
    relative += (relative.empty() ? "" : "/") + part;
  auto parent = open_beneath(root_, relative);
  if (!parent)
    return parent.error().number == ENOENT ? os_result<void>{} : tl::unexpected{parent.error()};
  // One rename takes it out of reach and frees the name; the removal may then take its time.
  if (::renameat(parent->get(), name.c_str(), trash_.get(), random_hex(8).c_str()) != 0)
    return errno == ENOENT ? os_result<void>{} : last_os_error("move to trash", name);
  return empty_directory(trash_, limit);
}

std::vector<std::string> owner_dirs::anonymous_ids() const {
  std::vector<std::string> result;
  auto prefix = instance_ + ".";
  std::error_code ignored;
  for (auto& entry : fs::directory_iterator{self_fd_path(root_.get()) + "/anonymous", ignored}) {
    auto name = entry.path().filename().native();
    if (name.rfind(prefix, 0) == 0 && is_sandbox_id(name.substr(prefix.size())))
      result.push_back(name.substr(prefix.size()));
  }
  return result;
}

} // namespace corral::jail
