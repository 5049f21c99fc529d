#include "providers/namespace/bwrap_command.hpp"

#include <initializer_list>

namespace corral::jail {

namespace {

class option_list {
public:
  void add(std::initializer_list<std::string> words) {
    options_.insert(options_.end(), words.begin(), words.end());
  }

  void tmpfs(uint64_t size, const char* mode, const char* target) {
    add({"--size", std::to_string(size), "--perms", mode, "--tmpfs", target});
  }

  void bind(int fd, bool read_only, const std::string& target) {
    add({read_only ? "--ro-bind-fd" : "--bind-fd", std::to_string(fd), target});
  }

  std::vector<std::string> take() { return std::move(options_); }

private:
  std::vector<std::string> options_;
};

void add_isolation(option_list& list, const namespace_settings& settings) {
  list.add(
      {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"});
  if (!settings.host_network)
    list.add({"--unshare-net"});
  list.add({"--disable-userns", "--as-pid-1", "--new-session", "--cap-drop", "ALL"});
  list.add({"--uid", "1000", "--gid", "1000", "--hostname", "corral"});
}

void add_environment(option_list& list, const namespace_settings& settings) {
  std::map<std::string, std::string> environment{
      {"HOME", "/home/agent"},
      {"LANG", "C.UTF-8"},
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"PYTHONUNBUFFERED", "1"},
      {"TERM", "dumb"},
      {"USER", "agent"},
  };
  for (auto& [name, value] : settings.environment)
    environment[name] = value;
  list.add({"--clearenv"});
  for (auto& [name, value] : environment)
    list.add({"--setenv", name, value});
}

void add_root(option_list& list, const root_layout& layout, const bwrap_descriptors& fds) {
  bool has_var = false;
  for (auto& entry : layout.entries) {
    auto target = "/" + entry.name;
    has_var = has_var || entry.name == "var";
    if (entry.link.empty())
      list.add({"--ro-bind", entry.source.native(), target});
    else
      list.add({"--symlink", entry.link, target});
  }
  if (!has_var)
    list.add({"--symlink", "/tmp", "/var/tmp", "--symlink", "/run", "/var/run"});
  if (fds.resolver >= 0)
    list.bind(fds.resolver, true, "/etc/resolv.conf");
}

void add_file_systems(option_list& list, const namespace_settings::limit_set& limits) {
  list.add({"--proc", "/proc"});
  // Knobs of the kernel ask for uid 0 and not for capabilities: they stay out of reach even if
  // that should ever be the sandbox's uid.
  list.add({"--ro-bind", "/proc/sys", "/proc/sys"});
  list.add({"--dev", "/dev"});
  list.tmpfs(limits.shm_size, "1777", "/dev/shm");
  // bwrap's /dev has no size of its own.
  list.add({"--remount-ro", "/dev"});
  list.tmpfs(limits.tmp_size, "1777", "/tmp");
  list.tmpfs(limits.home_size, "0700", "/home/agent");
  list.tmpfs(limits.run_size, "0700", "/run/corral");
}

void add_data(option_list& list, const namespace_settings& settings, const bwrap_descriptors& fds) {
  list.bind(fds.programs, true, "/run/guest");
  // Read-only, because the agent shares the guest's uid and could otherwise swap the socket.
  list.bind(fds.link, true, "/run/host");
  list.bind(fds.workspace, false, workspace_path);
  list.bind(fds.uploads, true, "/mnt/user-data/uploads");
  list.bind(fds.outputs, false, "/mnt/user-data/outputs");
  list.bind(fds.acp_workspace, false, "/mnt/acp-workspace");
  if (fds.skills >= 0)
    list.bind(fds.skills, true, "/mnt/skills");
  else
    list.add({"--dir", "/mnt/skills"});
  for (size_t i = 0; i < settings.mounts.size() && i < fds.mounts.size(); ++i)
    list.bind(fds.mounts[i], settings.mounts[i].read_only, settings.mounts[i].target);
}

} // namespace

std::vector<std::string> bwrap_options(const namespace_settings& settings,
                                       const root_layout& layout, const bwrap_descriptors& fds) {
  option_list list;
  add_isolation(list, settings);
  add_environment(list, settings);
  add_root(list, layout, fds);
  add_file_systems(list, settings.limits);
  add_data(list, settings, fds);
  list.add({"--remount-ro", "/", "--chdir", workspace_path});
  list.add({"--seccomp", std::to_string(fds.seccomp)});
  list.add({"--json-status-fd", std::to_string(fds.status)});
  return list.take();
}

std::vector<std::string> guest_command(const namespace_settings& settings,
                                       const root_layout& layout, const std::string& id, int secret,
                                       int uploads) {
  std::vector<std::string> result{"/run/guest/corral-guest",
                                  "--socket",
                                  "/run/host/guest.sock",
                                  "--id",
                                  id,
                                  "--shell-dir",
                                  "/run/corral",
                                  "--workspace",
                                  workspace_path,
                                  "--secret-fd",
                                  std::to_string(secret),
                                  "--uploads-fd",
                                  std::to_string(uploads),
                                  "--orphan-timeout",
                                  std::to_string(settings.orphan_timeout.count()),
                                  "--bash",
                                  layout.shell};
  result.insert(result.end(), settings.guest_options.begin(), settings.guest_options.end());
  return result;
}

} // namespace corral::jail
