// What the doctor sees of the kernel and of the programs that corrald needs.

#include "apps/cli/doctor.hpp"
#include "apps/cli/run_program.hpp"
#include "os/files.hpp"
#include "providers/namespace/cgroup_roots.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace corral::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds program_limit{10};
constexpr auto bwrap = "/usr/bin/bwrap";

std::optional<std::string> file_text(const fs::path& path) {
  auto text = read_small_file(path);
  return text ? std::optional{*text} : std::nullopt;
}

bool is_executable(const fs::path& path) {
  return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path);
}

finding check_kernel() {
  utsname x{};
  ::uname(&x);
  return judge_kernel(x.release);
}

finding check_user_namespaces() {
  return judge_user_namespaces({file_text("/proc/sys/user/max_user_namespaces"),
                                file_text("/proc/sys/kernel/unprivileged_userns_clone"),
                                file_text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
                                ::geteuid() == 0});
}

finding check_bubblewrap() {
  finding missing{"bubblewrap", verdict::fail, std::string{bwrap} + " is not there",
                  "apt-get install bubblewrap"};
  if (!is_executable(bwrap))
    return missing;
  auto version = run_program({bwrap, "--version"}, program_limit);
  auto help = run_program({bwrap, "--help"}, program_limit);
  if (!version || !help)
    return missing;
  return judge_bubblewrap(version->output, help->output);
}

/// The namespaces that every sandbox has, around a program that does nothing.
finding check_sandbox() {
  auto tried =
      run_program({bwrap, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
                   "--unshare-cgroup", "--unshare-net", "--disable-userns", "--cap-drop", "ALL",
                   "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/usr/bin/true"},
                  program_limit);
  if (tried && tried->status == 0)
    return {"namespaces", verdict::ok, "bubblewrap can make all that a sandbox has", ""};
  auto why = tried ? tried->output.substr(0, tried->output.find('\n')) : tried.error().what;
  return {"namespaces", verdict::fail, "bubblewrap cannot make a sandbox here: " + why,
          "in a container, allow it user namespaces and a new /proc (such as --privileged); "
          "elsewhere, see the line on user namespaces"};
}

finding check_program(const std::string& path, const std::string& package, verdict if_missing) {
  auto name = fs::path{path}.filename().native();
  if (is_executable(path))
    return {name, verdict::ok, path, ""};
  return {name, if_missing, path + " is not there", "apt-get install " + package};
}

bool is_writable(const fs::path& x) {
  return ::access(x.c_str(), W_OK) == 0;
}

bool has_word(const std::string& text, std::string_view word) {
  std::istringstream words{text};
  return std::find(std::istream_iterator<std::string>{words}, {}, word)
         != std::istream_iterator<std::string>{};
}

/// "cgroup v1, /sys/fs/cgroup/memory" where a cgroup with this controller can be made.
std::string place_of(std::string_view controller,
                     const std::vector<jail::cgroup_hierarchy>& hierarchies) {
  for (auto& h : hierarchies)
    for (auto& place : {h.mount, h.own}) {
      auto& v1 = h.controllers;
      auto v2 = read_small_file(place / "cgroup.controllers").value_or("");
      auto has = h.version == 2 ? has_word(v2, controller)
                                : std::find(v1.begin(), v1.end(), controller) != v1.end();
      if (has && is_writable(place) && is_writable(place / "cgroup.procs"))
        return std::string{h.version == 2 ? "cgroup v2, " : "cgroup v1, "}.append(place.native());
    }
  return "";
}

} // namespace

findings check_machine() {
  findings result{check_kernel(), check_user_namespaces(), check_bubblewrap()};
  if (result.back().is != verdict::fail)
    result.push_back(check_sandbox());
  result.push_back(check_program("/usr/bin/bash", "bash", verdict::warn));
  result.push_back(check_program("/usr/bin/bash-static", "bash-static", verdict::fail));
  auto hierarchies = jail::parse_hierarchies(file_text("/proc/self/mountinfo").value_or(""),
                                             file_text("/proc/self/cgroup").value_or(""));
  for (auto controller : {"memory", "pids", "cpu"})
    result.push_back(judge_controller(controller, place_of(controller, hierarchies)));
  return result;
}

} // namespace corral::cli
