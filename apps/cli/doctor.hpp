// Looks at this machine and says what keeps corrald from working here, and how to mend it.

#pragma once

#include "apps/cli/cli_error.hpp"
#include "config/config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::cli {

enum class verdict : uint8_t {
  ok,
  warn, ///< Works, with less than it could have.
  fail,
};

struct finding {
  std::string subject;
  verdict is = verdict::ok;
  std::string text;
  std::string fix; ///< What to do; empty if all is well.
};

using findings = std::vector<finding>;

struct doctor_options {
  std::string config_file; ///< Empty: the defaults and CORRAL_* variables.
  std::string endpoint;    ///< Empty: where the configuration puts the socket.
};

/// Checks everything and prints a line each; 1 if anything fails. Needs no daemon.
cli_result<int> doctor(const doctor_options& x, bool json);

// Judgements, which depend on nothing but what they are given.

finding judge_kernel(std::string_view release);
finding judge_bubblewrap(std::string_view version, std::string_view help);

/// The text of /proc files; nothing where a kernel has none.
struct user_namespace_facts {
  std::optional<std::string> maximum; ///< user/max_user_namespaces
  std::optional<std::string> unprivileged_clone;
  std::optional<std::string> apparmor_restriction;
  bool is_root = false;
};
finding judge_user_namespaces(const user_namespace_facts& x);

/// `accounts` are files of lines "name:x:id:..." such as /etc/passwd; `subordinate` are those of
/// lines "name:first:count".
finding judge_uid_range(const uid_range& range, std::string_view passwd, std::string_view group,
                        std::string_view subordinate);

/// Where a controller can be used, of "memory", "pids" and "cpu"; empty means nowhere.
finding judge_controller(std::string_view controller, const std::string& where);

// Looks at the machine.

findings check_machine();
findings check_installation();
findings check_directories(const config& x);
finding check_daemon(const std::string& endpoint);

} // namespace corral::cli
