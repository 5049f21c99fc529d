#include "tests/support/traces.hpp"

#include "os/files.hpp"
#include "providers/namespace/cgroup_roots.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

namespace corral::test {

namespace fs = std::filesystem;

namespace {

void find_processes(const std::string& id, std::vector<std::string>& found) {
  std::error_code ignored;
  for (auto& entry : fs::directory_iterator{"/proc", ignored}) {
    auto command = read_small_file(entry.path() / "cmdline").value_or("");
    if (command.find(id) != command.npos) {
      std::replace(command.begin(), command.end(), '\0', ' ');
      found.push_back("process " + entry.path().filename().native() + ": " + command);
    }
  }
}

void find_files(const fs::path& top, const std::string& id, std::vector<std::string>& found) {
  std::error_code ignored;
  fs::recursive_directory_iterator i{top, fs::directory_options::skip_permission_denied, ignored};
  for (; i != fs::recursive_directory_iterator{}; i.increment(ignored))
    if (i->path().filename().native().find(id) != std::string::npos)
      found.push_back(i->path());
}

} // namespace

std::vector<std::string> traces_of(const namespace_pool& pool, const std::string& id) {
  std::vector<std::string> found;
  find_processes(id, found);
  find_files(pool.path() / "run", id, found);
  find_files(pool.path() / "state", id, found);
  find_files(pool.path() / "data/anonymous", id, found);
  find_files("/sys/fs/cgroup", id, found);
  std::istringstream mounts{read_small_file("/proc/self/mountinfo").value_or("")};
  for (std::string line; std::getline(mounts, line);)
    if (line.find(pool.path().native()) != line.npos)
      found.push_back("mount " + line);
  return found;
}

size_t open_descriptors() {
  size_t n = 0;
  for ([[maybe_unused]] auto& entry : fs::directory_iterator{"/proc/self/fd"})
    ++n;
  return n;
}

size_t children_of_ours() {
  std::istringstream in{
      read_small_file("/proc/self/task/" + std::to_string(::getpid()) + "/children").value_or("")};
  size_t n = 0;
  for (pid_t child = 0; in >> child;)
    ++n;
  return n;
}

bool has_cgroup(const char* controller) {
  auto hierarchies = jail::parse_hierarchies(read_small_file("/proc/self/mountinfo").value_or(""),
                                             read_small_file("/proc/self/cgroup").value_or(""));
  bool found = false;
  for (auto& root : jail::find_cgroup_roots(hierarchies, "corral-test")) {
    found = found || root.controller == controller;
    ::rmdir(root.parent.c_str());
  }
  return found;
}

bool put(const fs::path& path, std::string_view content, mode_t mode) {
  return write_file_atomically(path, content, mode) && ::chmod(path.c_str(), mode) == 0;
}

} // namespace corral::test
