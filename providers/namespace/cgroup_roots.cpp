#include "providers/namespace/cgroup_roots.hpp"

#include "os/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <sstream>

namespace corral::jail {

namespace {

namespace fs = std::filesystem;

constexpr std::array wanted{"memory", "pids", "cpu"};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> result;
  std::istringstream in{std::string{text}};
  for (std::string part; std::getline(in, part, separator);)
    result.push_back(part);
  return result;
}

bool contains(const std::vector<std::string>& list, std::string_view x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

/// Our path in the hierarchy of one of `controllers`; of version 2 where there are none.
std::optional<std::string> own_path(const std::vector<std::string>& self_lines,
                                    const std::vector<std::string>& controllers) {
  for (auto& line : self_lines) {
    auto first = line.find(':');
    auto second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos)
      continue;
    auto names = split(line.substr(first + 1, second - first - 1), ',');
    auto ours = controllers.empty() ? names.empty()
                                    : std::any_of(names.begin(), names.end(), [&](auto& name) {
                                        return contains(controllers, name);
                                      });
    if (ours)
      return line.substr(second + 1);
  }
  return std::nullopt;
}

/// `path` is counted from the hierarchy's root, but only what is below `root` is mounted.
std::optional<fs::path> in_mount(const fs::path& mount, const std::string& root,
                                 const std::string& path) {
  if (root == "/")
    return mount / path.substr(1);
  if (path == root)
    return mount;
  if (path.rfind(root + "/", 0) == 0)
    return mount / path.substr(root.size() + 1);
  return std::nullopt;
}

std::optional<cgroup_hierarchy> parse_mount(const std::string& line,
                                            const std::vector<std::string>& self_lines) {
  auto words = split(line, ' ');
  auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 7 || words.end() - dash < 4)
    return std::nullopt;
  cgroup_hierarchy result;
  if (dash[1] == "cgroup2")
    result.version = 2;
  else if (dash[1] == "cgroup")
    result.controllers = split(dash[3], ',');
  else
    return std::nullopt;
  auto path = own_path(self_lines, result.controllers);
  if (!path || path->empty() || (*path)[0] != '/' || path->find("/..") != path->npos)
    return std::nullopt;
  auto own = in_mount(words[4], words[3], *path);
  if (!own)
    return std::nullopt;
  result.mount = words[4];
  result.own = *own;
  return result;
}

/// A cgroup in `parent` that we can write in.
std::optional<fs::path> make_in(const fs::path& parent, const std::string& name) {
  auto path = parent / name;
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return std::nullopt;
  return ::access(path.c_str(), W_OK) == 0 ? std::optional{path} : std::nullopt;
}

bool has_controller(const fs::path& file, std::string_view controller) {
  auto text = read_small_file(file).value_or("");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return contains(split(text, ' '), controller);
}

/// Hands a controller on to the children of `directory`.
bool enable(const fs::path& directory, const std::string& controller) {
  return has_controller(directory / "cgroup.subtree_control", controller)
         || (has_controller(directory / "cgroup.controllers", controller)
             && write_knob(directory / "cgroup.subtree_control", "+" + controller));
}

bool alone_in(const fs::path& directory) {
  auto text = read_small_file(directory / "cgroup.procs").value_or("");
  return text == std::to_string(::getpid()) + "\n";
}

/// Version 2 allows no processes beside children that have controllers.
bool step_aside(const fs::path& own) {
  auto leaf = own / "daemon";
  return (::mkdir(leaf.c_str(), 0755) == 0 || errno == EEXIST)
         && write_knob(leaf / "cgroup.procs", std::to_string(::getpid())).has_value();
}

void add_v1(const cgroup_hierarchy& h, const std::string& name, std::vector<cgroup_root>& roots) {
  if (std::none_of(wanted.begin(), wanted.end(),
                   [&](auto w) { return contains(h.controllers, w); }))
    return;
  auto parent = make_in(h.mount, name);
  if (!parent)
    parent = make_in(h.own, name);
  for (auto controller : wanted)
    if (parent && contains(h.controllers, controller))
      roots.push_back({controller, 1, *parent});
}

void add_v2_in(const fs::path& directory, const std::string& name,
               std::vector<cgroup_root>& roots) {
  std::vector<std::string> enabled;
  for (std::string controller : wanted)
    if (enable(directory, controller))
      enabled.push_back(controller);
  auto parent = enabled.empty() ? std::nullopt : make_in(directory, name);
  for (auto& controller : enabled)
    if (parent && enable(*parent, controller))
      roots.push_back({controller, 2, *parent});
}

void add_v2(const cgroup_hierarchy& h, const std::string& name, std::vector<cgroup_root>& roots) {
  auto before = roots.size();
  auto writable = ::access(h.own.c_str(), W_OK) == 0;
  // A restarted daemon may find itself in the leaf that it once moved to.
  auto home = h.own.filename() == "daemon" ? h.own.parent_path() : h.own;
  if (home != h.own || (writable && alone_in(h.own) && h.own != h.mount && step_aside(h.own)))
    add_v2_in(home, name, roots);
  if (roots.size() == before)
    add_v2_in(h.mount, name, roots);
}

} // namespace

std::vector<cgroup_hierarchy> parse_hierarchies(std::string_view mountinfo,
                                                std::string_view self_cgroup) {
  std::vector<cgroup_hierarchy> result;
  auto self_lines = split(self_cgroup, '\n');
  for (auto& line : split(mountinfo, '\n'))
    if (auto hierarchy = parse_mount(line, self_lines))
      result.push_back(std::move(*hierarchy));
  return result;
}

std::vector<cgroup_root> find_cgroup_roots(const std::vector<cgroup_hierarchy>& hierarchies,
                                           const std::string& name) {
  std::vector<cgroup_root> found;
  for (auto& h : hierarchies)
    h.version == 1 ? add_v1(h, name, found) : add_v2(h, name, found);
  // The same hierarchy may be mounted twice.
  std::vector<cgroup_root> result;
  for (auto& root : found)
    if (std::none_of(result.begin(), result.end(),
                     [&](auto& r) { return r.controller == root.controller; }))
      result.push_back(std::move(root));
  return result;
}

} // namespace corral::jail
