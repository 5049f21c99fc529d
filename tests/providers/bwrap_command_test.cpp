#include "providers/namespace/bwrap_command.hpp"
#include "providers/namespace/digest.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace corral;
using namespace corral::jail;

namespace {

using words = std::vector<std::string>;

bwrap_descriptors numbered() {
  bwrap_descriptors fds;
  fds.programs = 3;
  fds.link = 4;
  fds.workspace = 5;
  fds.uploads = 6;
  fds.outputs = 7;
  fds.acp_workspace = 8;
  fds.seccomp = 9;
  fds.status = 10;
  return fds;
}

root_layout usr_only() {
  root_layout layout;
  layout.entries = {{"usr", "/usr", {}}, {"bin", {}, "usr/bin"}};
  layout.shell = "/bin/bash";
  return layout;
}

words options(const namespace_settings& settings, const bwrap_descriptors& fds = numbered()) {
  return bwrap_options(settings, usr_only(), fds);
}

size_t position(const words& all, const words& part) {
  return static_cast<size_t>(std::search(all.begin(), all.end(), part.begin(), part.end())
                             - all.begin());
}

bool has(const words& all, const words& part) {
  return position(all, part) < all.size();
}

} // namespace

TEST_CASE("every namespace is left and every capability dropped") {
  auto all = options({});
  for (auto option :
       {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
        "--unshare-net", "--disable-userns", "--as-pid-1", "--new-session", "--clearenv"})
    CHECK_MESSAGE(has(all, {option}), option);
  CHECK(has(all, {"--cap-drop", "ALL"}));
  CHECK(has(all, {"--uid", "1000", "--gid", "1000"}));
  CHECK(has(all, {"--seccomp", "9"}));
  CHECK(has(all, {"--json-status-fd", "10"}));
}

TEST_CASE("a sandbox does not die with the thread that made it") {
  CHECK_FALSE(has(options({}), {"--die-with-parent"}));
}

TEST_CASE("the host's network is kept only where it is asked for") {
  namespace_settings settings;
  settings.host_network = true;
  CHECK_FALSE(has(options(settings), {"--unshare-net"}));
}

TEST_CASE("every memory file system has a size, and what has none is read-only") {
  auto all = options({});
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] == "--tmpfs") {
      REQUIRE(i >= 4);
      CHECK(all[i - 4] == "--size");
      CHECK(all[i - 3] != "0");
      CHECK(all[i - 2] == "--perms");
    }
  CHECK(position(all, {"--dev", "/dev"}) < position(all, {"--remount-ro", "/dev"}));
  CHECK(has(all, {"--ro-bind", "/proc/sys", "/proc/sys"}));
  CHECK(has(all, {"--remount-ro", "/"}));
}

TEST_CASE("the root becomes read-only after everything in it is made") {
  auto all = options({});
  auto last = position(all, {"--remount-ro", "/"});
  for (size_t i = last; i < all.size(); ++i)
    for (auto option : {"--dir", "--symlink", "--tmpfs", "--bind-fd", "--ro-bind-fd", "--ro-bind"})
      CHECK(all[i] != option);
}

TEST_CASE("commands write workspace, outputs and acp-workspace, and nothing else of the host") {
  namespace_settings settings;
  settings.mounts = {{"/a", "/mnt/a", true}, {"/b", "/mnt/b", false}};
  auto fds = numbered();
  fds.mounts = {11, 12};
  fds.skills = 13;
  auto all = options(settings, fds);
  words writable;
  for (size_t i = 0; i + 2 < all.size(); ++i) {
    CHECK(all[i] != "--bind");
    if (all[i] == "--bind-fd")
      writable.push_back(all[i + 2]);
  }
  CHECK(writable
        == words{"/mnt/user-data/workspace", "/mnt/user-data/outputs", "/mnt/acp-workspace",
                 "/mnt/b"});
  for (auto& part :
       {words{"--ro-bind-fd", "3", "/run/guest"}, words{"--ro-bind-fd", "4", "/run/host"},
        words{"--ro-bind-fd", "6", "/mnt/user-data/uploads"}, words{"--ro-bind-fd", "11", "/mnt/a"},
        words{"--ro-bind-fd", "13", "/mnt/skills"}})
    CHECK(has(all, part));
}

TEST_CASE("without skills there is an empty directory") {
  CHECK(has(options({}), {"--dir", "/mnt/skills"}));
}

TEST_CASE("the environment is the defaults and what is configured over them") {
  namespace_settings settings;
  settings.environment = {{"LANG", "de_DE.UTF-8"}, {"TOKEN", "a b"}};
  auto all = options(settings);
  CHECK(has(all, {"--setenv", "HOME", "/home/agent"}));
  CHECK(has(all, {"--setenv", "LANG", "de_DE.UTF-8"}));
  CHECK(has(all, {"--setenv", "TOKEN", "a b"}));
  CHECK_FALSE(has(all, {"C.UTF-8"}));
  CHECK(position(all, {"--clearenv"}) < position(all, {"--setenv"}));
}

TEST_CASE("links and directories of the root file system stay what they are") {
  auto all = options({});
  CHECK(has(all, {"--ro-bind", "/usr", "/usr"}));
  CHECK(has(all, {"--symlink", "usr/bin", "/bin"}));
  CHECK(has(all, {"--symlink", "/tmp", "/var/tmp"}));
  root_layout with_var = usr_only();
  with_var.entries.push_back({"var", "/images/var", {}});
  auto own = bwrap_options({}, with_var, numbered());
  CHECK(has(own, {"--ro-bind", "/images/var", "/var"}));
  CHECK_FALSE(has(own, {"/var/tmp"}));
}

TEST_CASE("the guest is told where its things are, and no secret") {
  namespace_settings settings;
  settings.guest_options = {"--keys", "5"};
  CHECK(guest_command(settings, usr_only(), "0123456789abcdef", 11, 12)
        == words{"/run/guest/corral-guest", "--socket", "/run/host/guest.sock", "--id",
                 "0123456789abcdef", "--shell-dir", "/run/corral", "--workspace",
                 "/mnt/user-data/workspace", "--secret-fd", "11", "--uploads-fd", "12",
                 "--orphan-timeout", "900", "--bash", "/bin/bash", "--keys", "5"});
}

TEST_CASE("digests tell lists of strings apart") {
  CHECK(digest_of({"a", "b"}) == digest_of({"a", "b"}));
  CHECK(digest_of({"a", "b"}) != digest_of({"ab"}));
  CHECK(digest_of({"a", ""}) != digest_of({"a"}));
  CHECK(digest_of({}).size() == 16);
}
