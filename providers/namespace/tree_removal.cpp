#include "providers/namespace/tree_removal.hpp"

#include "os/random.hpp"
#include "providers/namespace/paths.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>

namespace corral::jail {

namespace {

using clock = std::chrono::steady_clock;

struct directory_closer {
  void operator()(DIR* d) const { ::closedir(d); }
};

/// Makes sure that the owner may list and change a directory. Through /proc, because the name could
/// be a link and an O_PATH descriptor has no fchmod.
void open_up(const unique_fd& fd) {
  struct stat s {};
  if (::fstat(fd.get(), &s) == 0 && (s.st_mode & 0700) != 0700)
    ::chmod(self_fd_path(fd.get()).c_str(), 0700);
}

class remover {
public:
  remover(const unique_fd& top, clock::time_point deadline) : top_{top}, deadline_{deadline} {}

  os_result<void> run() {
    for (;;) {
      removed_ = 0;
      left_ = 0;
      clear(top_);
      if (left_ == 0)
        return {};
      if (clock::now() >= deadline_)
        return os_failure(ETIMEDOUT, "remove files");
      if (removed_ == 0)
        return os_failure(failure_, "remove files");
    }
  }

private:
  /// One pass over a directory: removes what can be, moves other directories' directories to the
  /// top, and empties those that are at the top.
  void clear(const unique_fd& directory) {
    auto readable = reopen_directory(directory);
    std::unique_ptr<DIR, directory_closer> stream{readable ? ::fdopendir(readable->get())
                                                           : nullptr};
    if (!stream)
      return note(readable ? errno : readable.error().number);
    readable->release();
    while (auto entry = ::readdir(stream.get())) {
      std::string name = entry->d_name;
      if (name == "." || name == "..")
        continue;
      if (clock::now() >= deadline_) {
        ++left_;
        return;
      }
      remove(directory, name);
    }
  }

  void remove(const unique_fd& parent, const std::string& name) {
    if (::unlinkat(parent.get(), name.c_str(), 0) == 0
        || (errno == EISDIR && ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0)) {
      ++removed_;
      return;
    }
    if (errno != ENOTEMPTY && errno != EEXIST)
      return note(errno);
    auto child = open_beneath(parent, name);
    if (!child)
      return note(child.error().number);
    open_up(*child);
    if (&parent != &top_) {
      if (::renameat(parent.get(), name.c_str(), top_.get(), random_hex(8).c_str()) != 0)
        return note(errno);
      ++removed_;
      ++left_;
      return;
    }
    clear(*child);
    if (::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0)
      ++removed_;
    else
      note(errno);
  }

  void note(int failure) {
    // Gone already: another purge works in the same place.
    if (failure == ENOENT)
      return;
    ++left_;
    failure_ = failure;
  }

  const unique_fd& top_;
  clock::time_point deadline_;
  size_t removed_ = 0;
  size_t left_ = 0;
  int failure_ = 0;
};

} // namespace

os_result<void> empty_directory(const unique_fd& directory, std::chrono::milliseconds limit) {
  return remover{directory, clock::now() + limit}.run();
}

} // namespace corral::jail
