#include "providers/namespace/probe_advice.hpp"

#include <doctest/doctest.h>

using namespace corral::jail;

namespace {

bool contains(const std::string& text, const char* part) {
  return text.find(part) != text.npos;
}

std::string no_knobs(std::string_view) {
  return {};
}

} // namespace

TEST_CASE("user namespaces that are off are named with the sysctl that turns them on") {
  auto none_allowed = [](std::string_view name) -> std::string {
    return name == "user/max_user_namespaces" ? "0" : "";
  };
  CHECK(contains(advice_for("any", none_allowed), "user.max_user_namespaces"));
  auto root_only = [](std::string_view name) -> std::string {
    return name == "kernel/unprivileged_userns_clone" ? "0" : "";
  };
  CHECK(contains(advice_for("any", root_only), "kernel.unprivileged_userns_clone=1"));
}

TEST_CASE("AppArmor is named only where it restricts and the failure looks like it") {
  auto restricted = [](std::string_view name) -> std::string {
    return name == "kernel/apparmor_restrict_unprivileged_userns" ? "1" : "";
  };
  CHECK(
      contains(advice_for("bwrap: setting up uid map: Permission denied", restricted), "AppArmor"));
  CHECK_FALSE(contains(advice_for("bwrap: execvp: No such file", restricted), "AppArmor"));
}

TEST_CASE("containers are told what they need") {
  CHECK(contains(
      advice_for("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", no_knobs),
      "systempaths"));
  CHECK(contains(
      advice_for("bwrap: Creating new namespace failed: Operation not permitted", no_knobs),
      "seccomp"));
}

TEST_CASE("a failure without a known cause gets no made-up advice") {
  CHECK(advice_for("bwrap: execvp /run/guest/corral-guest: No such file or directory", no_knobs)
        == "");
}
