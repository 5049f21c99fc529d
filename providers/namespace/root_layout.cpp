#include "providers/namespace/root_layout.hpp"

#include "os/files.hpp"
#include "os/unique_fd.hpp"
#include "providers/namespace/file_copies.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace corral::jail {

namespace {

namespace fs = std::filesystem;

constexpr const char* system_directories[] = {"usr",   "bin",   "sbin",  "lib",
                                              "lib32", "lib64", "libx32"};

// Read by compilers, interpreters, editors and TLS libraries. The rest of the host's /etc is its
// own business: it holds package sources, mirrors with passwords and keys.
constexpr const char* etc_entries[] = {
    "alternatives", "bash.bashrc", "debian_version", "fonts",      "inputrc",
    "ld.so.cache",  "ld.so.conf",  "ld.so.conf.d",   "localtime",  "magic",
    "magic.mime",   "mailcap",     "mime.types",     "os-release", "perl",
    "protocols",    "services",    "terminfo",       "timezone",   "vim"};

// With a version in their names.
constexpr std::string_view etc_prefixes[] = {"java-", "python3"};

struct synthesised {
  const char* name;
  const char* content;
};

constexpr synthesised etc_files[] = {
    {"passwd", "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
               "agent:x:1000:1000:agent:/home/agent:/bin/bash\n"
               "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"},
    {"nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
                      "networks: files\nprotocols: files\nservices: files\n"},
    {"hosts", "127.0.0.1 localhost corral\n::1 localhost ip6-localhost\n"},
    {"hostname", "corral\n"},
    {"shells", "/bin/sh\n/bin/bash\n"},
    {"resolv.conf", ""},
};

// The sandbox has its own of these.
constexpr const char* replaced[] = {"dev", "home", "mnt", "proc", "run", "sys", "tmp"};

std::vector<std::string> etc_names() {
  std::vector<std::string> result{std::begin(etc_entries), std::end(etc_entries)};
  std::error_code ignored;
  for (auto& entry : fs::directory_iterator{"/etc", ignored}) {
    auto name = entry.path().filename().native();
    for (auto prefix : etc_prefixes)
      if (name.rfind(prefix, 0) == 0)
        result.push_back(name);
  }
  return result;
}

os_result<void> make_etc(const fs::path& etc) {
  auto result = make_directory(etc, 0755);
  for (auto& name : etc_names())
    if (result)
      result = copy_public(fs::path{"/etc"} / name, etc / name);
  if (result)
    result = make_directory(etc / "ssl", 0755);
  for (auto name : {"ssl/certs", "ssl/openssl.cnf"})
    if (result)
      result = copy_public(fs::path{"/etc"} / name, etc / name);
  for (auto& file : etc_files)
    if (result)
      result = put_file(etc / file.name, file.content, 0644);
  return result;
}

os_result<root_entry> entry_of(const fs::path& source) {
  struct stat s {};
  if (::lstat(source.c_str(), &s) != 0)
    return last_os_error("stat", source.native());
  root_entry result{source.filename(), source, {}};
  if (S_ISLNK(s.st_mode)) {
    std::error_code failure;
    result.link = fs::read_symlink(source, failure);
    result.source.clear();
  }
  return result;
}

/// True if a file exists in `rootfs` once links are followed as the sandbox will.
bool exists_in(const fs::path& rootfs, const char* path) {
  unique_fd root{::open(rootfs.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  unique_fd fd{static_cast<int>(::syscall(SYS_openat2, root.get(), path, &how, sizeof how))};
  return static_cast<bool>(fd);
}

std::string shell_in(const fs::path& rootfs) {
  return exists_in(rootfs, "bin/bash") ? "/bin/bash" : "/run/guest/bash-static";
}

} // namespace

os_result<root_layout> host_layout(const fs::path& etc) {
  if (auto made = make_etc(etc); !made)
    return tl::unexpected{made.error()};
  root_layout result;
  for (auto name : system_directories)
    if (auto entry = entry_of(fs::path{"/"} / name))
      result.entries.push_back(std::move(*entry));
  result.entries.push_back({"etc", etc, {}});
  result.shell = shell_in("/");
  result.own_resolver = true;
  return result;
}

os_result<root_layout> directory_layout(const fs::path& rootfs) {
  root_layout result;
  std::error_code failure;
  for (fs::directory_iterator i{rootfs, failure}, end; i != end; i.increment(failure)) {
    auto name = i->path().filename().native();
    if (std::find(std::begin(replaced), std::end(replaced), name) != std::end(replaced))
      continue;
    auto entry = entry_of(i->path());
    if (!entry)
      return tl::unexpected{entry.error()};
    result.entries.push_back(std::move(*entry));
  }
  if (failure)
    return os_failure(failure.value(), "read root file system", rootfs.native());
  result.shell = shell_in(rootfs);
  struct stat s {};
  result.own_resolver =
      ::lstat((rootfs / "etc/resolv.conf").c_str(), &s) == 0 && S_ISREG(s.st_mode);
  return result;
}

} // namespace corral::jail
