#include "providers/namespace/probe_advice.hpp"

#include "os/child_process.hpp"
#include "os/files.hpp"
#include "providers/namespace/launcher.hpp"
#include "providers/namespace/preparation.hpp"

#include <unistd.h>

namespace corral::jail {

namespace {

constexpr const char* needed_options[] = {"--bind-fd",        "--ro-bind-fd", "--disable-userns",
                                          "--json-status-fd", "--as-pid-1",   "--size",
                                          "--perms",          "--args"};

std::string read_knob(std::string_view name) {
  auto text = read_small_file(std::filesystem::path{"/proc/sys"} / name).value_or("");
  return text.substr(0, text.find('\n'));
}

std::string help_of(const std::filesystem::path& program) {
  auto output = make_pipe();
  if (!output)
    return {};
  spawn_options options;
  options.argv = {program.native(), "--help"};
  options.descriptors = {{output->write.get(), 1}, {output->write.get(), 2}};
  auto process = child_process::spawn(options);
  output->write.reset();
  std::string result;
  char chunk[4096];
  for (ssize_t n = 0; process && result.size() < 65536
                      && (n = ::read(output->read.get(), chunk, sizeof chunk)) > 0;)
    result.append(chunk, static_cast<size_t>(n));
  return result;
}

} // namespace

result<void> check_bwrap(const std::filesystem::path& bwrap) {
  auto help = help_of(bwrap);
  for (std::string option : needed_options)
    if (help.find(option + " ") == help.npos)
      return start_failure("probe", bwrap.native() + " doesn't know " + option
                                        + ": Debian 12's bubblewrap (0.8.0-2+deb12u1) or a newer "
                                          "one is needed; apt-get install bubblewrap");
  return {};
}

std::string advice_for(std::string_view cause, std::string (*knob)(std::string_view)) {
  auto has = [&](std::string_view part) { return cause.find(part) != cause.npos; };
  if (knob("user/max_user_namespaces") == "0")
    return "user namespaces are off: sysctl -w user.max_user_namespaces=15000";
  if (knob("kernel/unprivileged_userns_clone") == "0")
    return "ordinary users may make no user namespaces: sysctl -w "
           "kernel.unprivileged_userns_clone=1";
  if (knob("kernel/apparmor_restrict_unprivileged_userns") == "1"
      && (has("uid map") || has("Permission denied") || has("Operation not permitted")))
    return "AppArmor denies user namespaces to programs without a profile: add a profile that "
           "allows 'userns' for bwrap, or sysctl -w "
           "kernel.apparmor_restrict_unprivileged_userns=0";
  if (has("mounting proc") || has("mount proc"))
    return "/proc is partly hidden here, as in a container: a container needs an unmasked /proc "
           "(docker: --security-opt systempaths=unconfined)";
  if (has("namespace") || has("pivot_root") || has("Operation not permitted"))
    return "namespaces are denied here, as in a container: it needs a seccomp profile that allows "
           "them (docker: --security-opt seccomp=unconfined)";
  return {};
}

std::string explain(std::string_view cause) {
  std::string result{cause};
  while (!result.empty() && result.back() == '\n')
    result.pop_back();
  auto advice = advice_for(cause, &read_knob);
  return advice.empty() ? result : result + "\n  " + advice;
}

} // namespace corral::jail
