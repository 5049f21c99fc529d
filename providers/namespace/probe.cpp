#include "providers/namespace/probe.hpp"

#include "os/files.hpp"
#include "providers/namespace/maker.hpp"
#include "providers/namespace/preparation.hpp"
#include "providers/namespace/probe_advice.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

namespace corral::jail {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

sandbox_spec anonymous_spec() {
  return {random_sandbox_id(), {}, true};
}

/// Another tenant's files, for the probe to look for.
class bystander {
public:
  explicit bystander(const owner_dirs& dirs) : dirs_{dirs} {}
  ~bystander() { static_cast<void>(dirs_.purge(spec_, 1s)); }

  /// The path of a file that nobody else may see.
  os_result<fs::path> plant() {
    auto tree = dirs_.prepare(spec_);
    if (!tree)
      return tl::unexpected{tree.error()};
    unique_fd file{::openat(tree->workspace.get(), "canary", O_CREAT | O_WRONLY | O_CLOEXEC, 0644)};
    std::error_code failure;
    auto path = fs::read_symlink("/proc/self/fd/" + std::to_string(file.get()), failure);
    if (!file || failure)
      return last_os_error("plant a file");
    return path;
  }

private:
  const owner_dirs& dirs_;
  sandbox_spec spec_ = anonymous_spec();
};

std::vector<std::string> probe_command(const namespace_settings& s, const fs::path& canary,
                                       int secret, int uploads) {
  auto& l = s.limits;
  auto largest = std::max({l.tmp_size, l.home_size, l.shm_size, l.run_size});
  std::vector<std::string> result{"/run/guest/corral-probe", "--max-size", std::to_string(largest)};
  auto add = [&](const char* option, const std::string& value) {
    result.insert(result.end(), {option, value});
  };
  for (auto fd : {0, 1, 2, secret, uploads})
    add("--fd", std::to_string(fd));
  for (auto& path : {canary, s.state_dir, s.data_dir, s.run_dir / "links"})
    add("--hidden", path);
  for (auto path : {"/mnt/user-data/workspace", "/mnt/user-data/outputs", "/mnt/acp-workspace"})
    add("--host-directory", path);
  for (auto& mount : s.mounts)
    if (!mount.read_only)
      add("--host-directory", mount.target);
  add("--network", s.host_network ? "host" : "none");
  add("--debuggers", s.debuggers ? "yes" : "no");
  return result;
}

/// What the probe says until its last line, or until it ends.
std::string read_report(const unique_fd& fd) {
  auto deadline = clock::now() + 15s;
  std::string result;
  while (result.find("done\n") == result.npos && result.size() < 65536) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now());
    pollfd p{fd.get(), POLLIN, 0};
    char chunk[4096];
    if (left <= 0ms || ::poll(&p, 1, static_cast<int>(left.count())) <= 0)
      break;
    auto n = ::read(fd.get(), chunk, sizeof chunk);
    if (n <= 0)
      break;
    result.append(chunk, static_cast<size_t>(n));
  }
  return result;
}

std::vector<std::string> failures_in(const std::string& report) {
  std::vector<std::string> result;
  std::istringstream in{report};
  bool done = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("FAIL ", 0) == 0)
      result.push_back(line.substr(5));
    done = done || line == "done";
  }
  if (!done)
    result.push_back("the probe ended before its last check");
  return result;
}

/// What only the host can see.
void check_from_outside(const sandbox_maker& maker, const sandbox_record& record,
                        std::vector<std::string>& failures) {
  auto proc = "/proc/" + std::to_string(record.guest.pid);
  std::istringstream status{read_small_file(proc + "/status").value_or("")};
  auto expected = ::geteuid() == 0 ? record.uid : ::geteuid();
  bool found = false;
  for (std::string line; std::getline(status, line);) {
    std::istringstream words{line};
    std::string name;
    uid_t real = 0, effective = 0, saved = 0;
    if (words >> name >> real >> effective >> saved && name == "Uid:")
      found = real == expected && effective == expected && saved == expected && real != 0;
  }
  if (!found)
    failures.push_back("uid: the sandbox doesn't run as its owner's uid");
  auto cgroup = read_small_file(proc + "/cgroup").value_or("");
  if (!maker.cgroups().holds(record.id, cgroup))
    failures.push_back("cgroup: the sandbox isn't in its cgroup");
}

result<void> verdict(const std::vector<std::string>& failures) {
  if (failures.empty())
    return {};
  std::string message = "sandboxes would not be isolated on this machine:";
  for (auto& line : failures)
    message += "\n  " + line;
  return start_failure("probe", std::move(message));
}

} // namespace

result<void> probe_isolation(const sandbox_maker& maker) {
  if (auto usable = check_bwrap(maker.settings().bwrap); !usable)
    return usable;
  bystander other{maker.dirs()};
  auto canary = other.plant();
  auto input = make_pipe();
  auto output = make_pipe();
  if (!canary || !input || !output)
    return start_failure("probe", canary ? "out of descriptors" : canary.error().what);
  payload program;
  program.programs = &maker.probe_programs();
  program.command = [&](int secret, int uploads) {
    return probe_command(maker.settings(), *canary, secret, uploads);
  };
  program.input = &input->read;
  program.output = &output->write;
  program.dials = false;
  auto spec = anonymous_spec();
  auto made = maker.make(spec, program);
  if (!made)
    return start_failure("probe", explain(made.error().cause));
  output->write.reset();
  auto failures = failures_in(read_report(output->read));
  check_from_outside(maker, made->record, failures);
  if (auto gone = maker.unmake(spec.id, true, &made->outer); !gone)
    failures.push_back("removal: " + gone.error().cause);
  return verdict(failures);
}

} // namespace corral::jail
