#include "apps/cli/doctor.hpp"

#include "config/units.hpp"

#include <algorithm>
#include <charconv>

namespace corral::cli {

namespace {

constexpr std::pair<int, int> needed_kernel{5, 11};

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

/// The next field of a line, which is cut off it.
std::string_view cut_field(std::string_view& line, char separator) {
  auto end = std::min(line.find(separator), line.size());
  auto result = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return result;
}

/// A line "name:x:id:..." whose id lies in the range; its name.
std::string_view account_in(const uid_range& range, std::string_view text) {
  while (!text.empty()) {
    auto line = cut_field(text, '\n');
    auto name = cut_field(line, ':');
    cut_field(line, ':');
    auto id = parse_whole_number(cut_field(line, ':'));
    if (id && *id >= range.first && *id <= range.last)
      return name;
  }
  return {};
}

std::string_view subordinate_in(const uid_range& range, std::string_view text) {
  while (!text.empty()) {
    auto line = cut_field(text, '\n');
    auto name = cut_field(line, ':');
    auto first = parse_whole_number(cut_field(line, ':'));
    auto count = parse_whole_number(line);
    if (first && count && *first <= range.last && range.first < *first + *count)
      return name;
  }
  return {};
}

std::string to_text(const uid_range& x) {
  return std::to_string(x.first) + "-" + std::to_string(x.last);
}

} // namespace

finding judge_kernel(std::string_view release) {
  std::pair<int, int> found{0, 0};
  auto end = release.data() + release.size();
  auto major = std::from_chars(release.data(), end, found.first);
  if (major.ptr != end && *major.ptr == '.')
    std::from_chars(major.ptr + 1, end, found.second);
  if (found >= needed_kernel)
    return {"kernel", verdict::ok, std::string{release}, ""};
  return {"kernel", verdict::fail,
          std::string{release} + " is too old: openat2, close_range and pidfds need 5.11",
          "run a kernel of at least 5.11"};
}

finding judge_bubblewrap(std::string_view version, std::string_view help) {
  std::string missing;
  for (std::string_view option : {"--bind-fd", "--ro-bind-fd", "--json-status-fd",
                                  "--disable-userns", "--as-pid-1", "--size", "--perms"})
    if (help.find(option) == std::string_view::npos)
      missing.append(missing.empty() ? "" : ", ").append(option);
  if (missing.empty())
    return {"bubblewrap", verdict::ok, std::string{first_line(version)}, ""};
  return {"bubblewrap", verdict::fail, std::string{first_line(version)} + " lacks " + missing,
          "apt-get install bubblewrap (Debian 12's 0.8.0-2+deb12u1 or newer)"};
}

finding judge_user_namespaces(const user_namespace_facts& x) {
  auto is = [](const std::optional<std::string>& text, uint64_t value) {
    return text && parse_whole_number(first_line(*text)) == value;
  };
  if (!x.maximum || is(x.maximum, 0))
    return {"user namespaces", verdict::fail,
            x.maximum ? "switched off (max_user_namespaces is 0)" : "not in this kernel",
            "sysctl -w user.max_user_namespaces=10000, or a kernel with CONFIG_USER_NS"};
  if (!x.is_root && is(x.unprivileged_clone, 0))
    return {"user namespaces", verdict::fail, "root only (unprivileged_userns_clone is 0)",
            "sysctl -w kernel.unprivileged_userns_clone=1, or run corrald as root"};
  if (!x.is_root && is(x.apparmor_restriction, 1))
    return {"user namespaces", verdict::warn,
            "AppArmor allows them to profiled programs only "
            "(apparmor_restrict_unprivileged_userns is 1)",
            "give bwrap a profile that allows userns, or run corrald as root"};
  return {"user namespaces", verdict::ok, "at most " + std::string{first_line(*x.maximum)}, ""};
}

finding judge_uid_range(const uid_range& range, std::string_view passwd, std::string_view group,
                        std::string_view subordinate) {
  auto fix = "set uid_range to ids that nothing else on this machine uses";
  for (auto& [text, what] : {std::pair{passwd, "user "}, std::pair{group, "group "}})
    if (auto name = account_in(range, text); !name.empty())
      return {"uid range", verdict::fail,
              to_text(range) + " holds the id of " + what + std::string{name}, fix};
  if (auto name = subordinate_in(range, subordinate); !name.empty())
    return {"uid range", verdict::warn,
            to_text(range) + " overlaps the subordinate ids of " + std::string{name}, fix};
  return {"uid range", verdict::ok, to_text(range) + " is free", ""};
}

finding judge_controller(std::string_view controller, const std::string& where) {
  auto subject = "cgroup " + std::string{controller};
  if (!where.empty())
    return {subject, verdict::ok, where, ""};
  return {subject, verdict::warn, "not writable: this limit is not enforced",
          "run corrald as root, or as a systemd service with Delegate=yes"};
}

} // namespace corral::cli
