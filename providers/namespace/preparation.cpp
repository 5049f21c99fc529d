#include "providers/namespace/preparation.hpp"

#include "os/files.hpp"
#include "providers/namespace/file_copies.hpp"
#include "providers/namespace/paths.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace corral::jail {

namespace {

namespace fs = std::filesystem;

// Of the 107 bytes of a socket's path: "/links/<id>/guest.sock".
constexpr size_t max_run_dir = 107 - 34;

result<void> check_directory(const char* name, const fs::path& path) {
  if (!path.is_absolute())
    return start_failure("settings", std::string{name} + " must be an absolute path");
  std::error_code failure;
  if (fs::create_directories(path, failure); failure)
    return start_failure("settings", std::string{name} + " " + path.native()
                                         + " can't be made: " + failure.message());
  return {};
}

/// As root, bubblewrap runs as the owner's uid, which must reach what it binds.
result<void> check_passable(const char* name, const fs::path& path) {
  if (::geteuid() != 0)
    return {};
  for (auto at = fs::canonical(path); at.has_relative_path(); at = at.parent_path()) {
    struct stat s {};
    if (::stat(at.c_str(), &s) == 0 && (s.st_mode & S_IXOTH) == 0)
      return start_failure("settings", std::string{name} + " " + path.native()
                                           + " can't be used: sandboxes run as other users, and "
                                           + at.native() + " doesn't let them pass; chmod o+x "
                                           + at.native() + " or choose another directory");
  }
  return {};
}

result<void> check_directories(const namespace_settings& s) {
  if (s.run_dir.native().size() > max_run_dir)
    return start_failure("settings", "run_dir " + s.run_dir.native() + " is longer than "
                                         + std::to_string(max_run_dir)
                                         + " characters, too long for a socket's path below it");
  return check_directory("data_dir", s.data_dir)
      .and_then([&] { return check_directory("state_dir", s.state_dir); })
      .and_then([&] { return check_directory("run_dir", s.run_dir); })
      .and_then([&] { return check_passable("data_dir", s.data_dir); })
      .and_then([&] { return check_passable("run_dir", s.run_dir); });
}

result<void> check_source(const std::string& what, const fs::path& source) {
  auto opened =
      source.is_absolute() ? open_source(source) : os_failure(ENOENT, "open", source.native());
  if (opened)
    return {};
  auto hint = opened.error().number == ELOOP
                  ? " passes a symbolic link; name the directory it leads to"
                  : " can't be opened: " + opened.error().what;
  return start_failure("mounts", what + ": the source " + source.native() + hint);
}

/// True if one is the other or holds it.
bool overlap(const std::string& a, const std::string& b) {
  auto x = a == "/" ? a : a + "/";
  auto y = b == "/" ? b : b + "/";
  return x.rfind(y, 0) == 0 || y.rfind(x, 0) == 0;
}

/// A mount that shows our own directories would show every owner's files, or records and secrets.
result<void> check_exposure(const namespace_settings& s, const std::string& what,
                            const fs::path& source) {
  for (auto& [name, path] : {std::pair{"data_dir", s.data_dir}, std::pair{"state_dir", s.state_dir},
                             std::pair{"run_dir", s.run_dir}})
    if (overlap(source.lexically_normal(), fs::canonical(path)))
      return start_failure("mounts",
                           what + ": the source " + source.native() + " shares files with " + name);
  return {};
}

result<void> check_mounts(const namespace_settings& s) {
  for (size_t i = 0; i < s.mounts.size(); ++i) {
    auto& target = s.mounts[i].target;
    std::string why;
    if (is_reserved(target, why))
      return start_failure("mounts", "the mount target '" + target + "' is reserved: " + why);
    for (size_t j = 0; j < i; ++j)
      if (overlap(target, s.mounts[j].target))
        return start_failure("mounts", "the mount targets '" + s.mounts[j].target + "' and '"
                                           + target + "' overlap");
    auto what = "the mount '" + target + "'";
    auto checked = check_source(what, s.mounts[i].source).and_then([&] {
      return check_exposure(s, what, s.mounts[i].source);
    });
    if (!checked)
      return checked;
  }
  if (s.skills.empty())
    return {};
  return check_source("skills", s.skills).and_then([&] {
    return check_exposure(s, "skills", s.skills);
  });
}

result<void> check_program(const char* what, const fs::path& path, const char* fix) {
  if (::access(path.c_str(), X_OK) == 0)
    return {};
  return start_failure("programs",
                       std::string{what} + " " + path.native() + " can't be run: " + fix);
}

result<void> check_programs(const namespace_settings& s) {
  auto build = "build or install corral completely";
  return check_program("bubblewrap", s.bwrap, "apt-get install bubblewrap")
      .and_then([&] { return check_program("bash", s.bash, "apt-get install bash-static"); })
      .and_then([&] { return check_program("corral-guest", s.guest, build); })
      .and_then([&] { return check_program("corral-launch", s.launch, build); })
      .and_then([&] { return check_program("corral-probe", s.probe, build); });
}

} // namespace

tl::unexpected<error> start_failure(std::string_view step, std::string message) {
  return failure(errc::sandbox_runtime, std::move(message), fields{}.set("step", step));
}

result<void> check_settings(const namespace_settings& settings) {
  auto& s = settings;
  if (s.first_uid == 0 || s.first_uid > s.last_uid || s.last_uid >= 0xfffffffe)
    return start_failure("settings", "uid_range must be two uids above 0, the lower one first");
  for (auto size : {s.limits.tmp_size, s.limits.home_size, s.limits.shm_size, s.limits.run_size})
    if (size == 0)
      return start_failure("settings", "the size of a sandbox's file system can't be 0: it would "
                                       "be unlimited");
  return check_programs(s).and_then([&] { return check_directories(s); }).and_then([&] {
    return check_mounts(s);
  });
}

result<unique_fd> install_programs(const fs::path& directory,
                                   const std::vector<std::pair<fs::path, std::string>>& programs) {
  if (auto made = make_directory(directory, 0755); !made)
    return start_failure("programs", made.error().what);
  for (auto& [source, name] : programs)
    if (auto copied = copy_file(source, directory / name, 0755); !copied)
      return start_failure("programs", copied.error().what);
  unique_fd fd{::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!fd)
    return start_failure("programs", last_os_error("open", directory.native()).value().what);
  return fd;
}

} // namespace corral::jail
