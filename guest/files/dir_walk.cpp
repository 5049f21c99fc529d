#include "guest/files/dir_walk.hpp"

#include "guest/files/ignore_list.hpp"
#include "guest/files/open_beneath.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <memory>

namespace corral::guest {

namespace {

struct close_directory {
  void operator()(DIR* x) const { ::closedir(x); }
};

using directory_stream = std::unique_ptr<DIR, close_directory>;

entry_type type_of_mode(mode_t mode) {
  return S_ISREG(mode)   ? entry_type::file
         : S_ISDIR(mode) ? entry_type::directory
         : S_ISLNK(mode) ? entry_type::symlink
                         : entry_type::other;
}

entry_type type_of_dirent(unsigned char type) {
  return type_of_mode(DTTOIF(type));
}

/// Compares as if directories ended in `/`, so that what lies in them sorts where they do.
bool comes_before(const walk_entry& a, const walk_entry& b) {
  auto common = std::min(a.path.size(), b.path.size());
  if (auto order = a.path.compare(0, common, b.path, 0, common); order != 0)
    return order < 0;
  auto next_byte = [common](const walk_entry& x) {
    if (common < x.path.size())
      return int{static_cast<unsigned char>(x.path[common])};
    return x.type == entry_type::directory ? int{'/'} : -1;
  };
  return next_byte(a) < next_byte(b);
}

void look_at(const directory_stream& directory, const dirent& found, bool sizes, walk_entry& x) {
  x.type = type_of_dirent(found.d_type);
  if (found.d_type != DT_UNKNOWN && !sizes)
    return;
  struct stat status {};
  if (::fstatat(::dirfd(directory.get()), found.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return;
  x.type = type_of_mode(status.st_mode);
  if (x.type == entry_type::file || x.type == entry_type::symlink)
    x.size = static_cast<uint64_t>(status.st_size);
}

size_t depth_of(std::string_view path) {
  return 1 + static_cast<size_t>(std::count(path.begin(), path.end(), '/'));
}

} // namespace

std::string_view to_string(entry_type x) {
  constexpr std::string_view names[] = {"file", "directory", "symlink", "other"};
  return names[static_cast<size_t>(x)];
}

result<std::optional<walk_entry>> dir_walk::next() {
  if (!started_) {
    started_ = true;
    if (auto entered = enter("."); !entered)
      return tl::unexpected{entered.error()};
  }
  while (!stack_.empty() && stack_.back().empty())
    stack_.pop_back();
  if (stack_.empty())
    return std::nullopt;
  if (auto checked = check_(); !checked)
    return tl::unexpected{checked.error()};
  auto entry = std::move(stack_.back().back());
  stack_.back().pop_back();
  if (entry.type == entry_type::directory && depth_of(entry.path) < options_.max_depth)
    if (auto entered = enter(entry.path); !entered)
      return tl::unexpected{entered.error()};
  return std::optional{std::move(entry)};
}

result<void> dir_walk::enter(const std::string& path) {
  auto fd = open_beneath(root_, path, O_RDONLY | O_DIRECTORY);
  if (!fd || (path != "." && is_on_kernel_fs(*fd)))
    return {};
  auto entries = read_entries(std::move(*fd), path);
  if (!entries)
    return tl::unexpected{entries.error()};
  stack_.push_back(std::move(*entries));
  return {};
}

result<std::vector<walk_entry>> dir_walk::read_entries(unique_fd fd, const std::string& path) {
  std::vector<walk_entry> entries;
  directory_stream directory{::fdopendir(fd.get())};
  if (!directory)
    return entries;
  fd.release();
  while (auto found = ::readdir(directory.get())) {
    std::string_view name{found->d_name};
    if (name == "." || name == ".." || (!options_.all && is_ignored_name(name)))
      continue;
    if (auto checked = check_(); !checked)
      return tl::unexpected{checked.error()};
    walk_entry x{path == "." ? std::string{name} : path + "/" + std::string{name}};
    look_at(directory, *found, options_.sizes, x);
    entries.push_back(std::move(x));
    if (entries.size() >= 2 * options_.directory_max_entries)
      keep_first(entries);
  }
  keep_first(entries);
  std::sort(entries.begin(), entries.end(), [](auto& a, auto& b) { return comes_before(b, a); });
  return entries;
}

void dir_walk::keep_first(std::vector<walk_entry>& entries) {
  auto limit = options_.directory_max_entries;
  if (entries.size() <= limit)
    return;
  incomplete_ = true;
  std::nth_element(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(limit), entries.end(),
                   comes_before);
  entries.erase(entries.begin() + static_cast<ptrdiff_t>(limit), entries.end());
}

} // namespace corral::guest
