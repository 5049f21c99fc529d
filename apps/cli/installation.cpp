// What the doctor sees of Corral itself: its programs, directories and daemon.

#include "apps/cli/daemon_client.hpp"
#include "apps/cli/doctor.hpp"
#include "os/files.hpp"
#include "os/installed_program.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace corral::cli {

namespace {

namespace fs = std::filesystem;

/// The directory itself, or the closest one above it that is there.
fs::path existing_part(fs::path path) {
  std::error_code ignored;
  while (path.has_relative_path() && !fs::exists(path, ignored))
    path = path.parent_path();
  return path;
}

/// The first directory on the way that lets no other user pass; empty if all do.
fs::path obstacle_on_way(fs::path at) {
  for (; at.has_relative_path(); at = at.parent_path()) {
    struct stat s {};
    if (::stat(at.c_str(), &s) == 0 && (s.st_mode & S_IXOTH) == 0)
      return at;
  }
  return {};
}

finding check_directory(const std::string& name, const fs::path& path, bool others_pass) {
  auto there = existing_part(path);
  auto exists = there == path;
  std::error_code ignored;
  if (exists && !fs::is_directory(path, ignored))
    return {name, verdict::fail, path.native() + " is not a directory",
            "remove it or set " + name + " to another path"};
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    return {name, verdict::fail,
            path.native() + (exists ? " is not writable" : " is not there and can't be made in ")
                + (exists ? "" : there.native()),
            "make it writable for whoever runs corrald, or set " + name + " to another path"};
  auto obstacle = others_pass && ::geteuid() == 0
                      ? obstacle_on_way(exists ? there.parent_path() : there)
                      : fs::path{};
  if (!obstacle.empty())
    return {name, verdict::fail,
            "sandboxes run as other users, and " + obstacle.native() + " does not let them pass",
            "chmod o+x " + obstacle.native() + ", or set " + name + " to another path"};
  return {name, verdict::ok, path.native() + (exists ? "" : " (will be made)"), ""};
}

finding check_uid_range(const uid_range& range) {
  auto text = [](const char* path) { return read_small_file(path).value_or(""); };
  return judge_uid_range(range, text("/etc/passwd"), text("/etc/group"),
                         text("/etc/subuid") + "\n" + text("/etc/subgid"));
}

} // namespace

findings check_installation() {
  findings result;
  for (auto name : {"corrald", "corral-guest", "corral-launch", "corral-probe"}) {
    auto path = installed_program(name);
    if (::access(path.c_str(), X_OK) != 0)
      result.push_back({name, verdict::fail, "not found beside this program",
                        "build or install Corral as a whole"});
    else
      result.push_back({name, verdict::ok, path.native(), ""});
  }
  return result;
}

findings check_directories(const config& x) {
  findings result{check_directory("data_dir", x.data_dir, true),
                  check_directory("state_dir", x.state_dir, false),
                  check_directory("run_dir", x.run_dir, true)};
  if (::geteuid() == 0)
    result.push_back(check_uid_range(x.uid_range));
  return result;
}

finding check_daemon(const std::string& endpoint) {
  auto client = daemon_client::connect({endpoint});
  if (client)
    return {"daemon", verdict::ok,
            client->welcome().text("server").value_or("corrald") + " answers on " + endpoint, ""};
  return {"daemon", verdict::warn, client.error().message,
          "corrald (in the foreground), or its service"};
}

} // namespace corral::cli
