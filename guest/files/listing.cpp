// list_dir and glob.

#include "guest/files/listing.hpp"

#include "guest/files/file_error.hpp"
#include "guest/files/glob_match.hpp"
#include "guest/files/open_beneath.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace corral::guest {

result<search_root> open_search_root(const file_call& call, bool files_allowed) {
  auto open = [&](place& at) -> result<search_root> {
    auto fd = open_beneath(at.root, at.beneath, O_PATH);
    auto x = fd ? stat_of(*fd) : tl::unexpected{fd.error()};
    if (!x)
      return call.fail(x.error().number);
    if (S_ISLNK(x->st_mode))
      return call.fail(EAGAIN);
    if (!S_ISDIR(x->st_mode) && !files_allowed)
      return call.fail(ENOTDIR);
    if (!S_ISDIR(x->st_mode) && !S_ISREG(x->st_mode))
      return call.fail(ENXIO);
    if (S_ISDIR(x->st_mode) && is_on_procfs(*fd))
      return call.fail(errc::permission_denied, "look at it with a command");
    // A walk passes over what it can't read, but not over its own root.
    if (S_ISDIR(x->st_mode))
      if (auto readable = open_beneath(*fd, ".", O_RDONLY | O_DIRECTORY); !readable)
        return call.fail(readable.error().number);
    return search_root{std::move(*fd), S_ISDIR(x->st_mode)};
  };
  return call.paths.settle(call.path, purpose::read, open);
}

dir_walk walk_below(const file_call& call, const search_root& root, walk_options options) {
  options.all = call.flag("all");
  options.directory_max_entries = call.settings.directory_max_entries;
  return {root.fd, options, [&call] { return call.check(); }};
}

result_lines room_for_results(const file_call& call, int64_t default_max) {
  auto max = std::max<int64_t>(call.integer("max_results", default_max), 1);
  return {static_cast<size_t>(max), call.settings.results_max_bytes};
}

std::string path_of_entry(const file_call& call, std::string_view relative) {
  return (call.path == "/" ? "" : call.path) + "/" + std::string{relative};
}

result<void> list_dir(file_call& call) {
  auto root = open_search_root(call, false);
  if (!root)
    return tl::unexpected{root.error()};
  walk_options options;
  options.max_depth = static_cast<size_t>(std::clamp<int64_t>(call.integer("max_depth", 2), 1, 64));
  options.sizes = true;
  auto walk = walk_below(call, *root, options);
  result_lines lines{call.settings.list_max_entries, call.settings.results_max_bytes};
  for (;;) {
    auto entry = walk.next();
    if (!entry)
      return tl::unexpected{entry.error()};
    if (!*entry)
      break;
    auto& x = **entry;
    fields line;
    line.set("type", to_string(x.type)).set("size", x.size);
    auto path = path_of_entry(call, x.path) + (x.type == entry_type::directory ? "/" : "");
    if (!lines.add(path, std::move(line)))
      break;
  }
  if (walk.incomplete())
    lines.set_truncated();
  call.out->finish(lines.take_reply());
  return {};
}

result<void> glob(file_call& call) {
  auto pattern = glob_pattern::compile(call.header.text("pattern").value_or(""));
  if (!pattern)
    return tl::unexpected{pattern.error()};
  auto root = open_search_root(call, false);
  if (!root)
    return tl::unexpected{root.error()};
  auto with_directories = call.flag("include_dirs");
  auto walk = walk_below(call, *root);
  auto lines = room_for_results(call, 200);
  for (;;) {
    auto entry = walk.next();
    if (!entry)
      return tl::unexpected{entry.error()};
    if (!*entry)
      break;
    auto& x = **entry;
    auto is_directory = x.type == entry_type::directory;
    if ((is_directory && !with_directories) || !pattern->matches(x.path, is_directory))
      continue;
    if (!lines.add(path_of_entry(call, x.path), {}))
      break;
  }
  if (walk.incomplete())
    lines.set_truncated();
  call.out->finish(lines.take_reply());
  return {};
}

} // namespace corral::guest
