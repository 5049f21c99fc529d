#include "providers/namespace/links.hpp"

#include "messages/wire/owner.hpp"
#include "os/files.hpp"
#include "os/socket.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace corral::jail {

namespace fs = std::filesystem;

os_result<link_dirs> link_dirs::open(const fs::path& run_dir) {
  auto top = run_dir / "links";
  return make_directory(top, 0711).map([&] { return link_dirs{top}; });
}

os_result<guest_link> link_dirs::make(const std::string& id, uid_t uid) const {
  auto path = top_ / id;
  if (auto made = make_directory(path, 0755); !made)
    return tl::unexpected{made.error()};
  auto as_root = ::geteuid() == 0;
  auto owner = as_root ? uid : static_cast<uid_t>(-1);
  auto listener = listen_unix(path / "guest.sock", 0600, owner, owner);
  if (!listener)
    return tl::unexpected{listener.error()};
  unique_fd directory{::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!directory)
    return last_os_error("open", path.native());
  return guest_link{std::move(*listener), std::move(directory)};
}

os_result<void> link_dirs::remove(const std::string& id) const {
  auto path = top_ / id;
  std::error_code failure;
  if (fs::remove_all(path, failure); failure)
    return os_failure(failure.value(), "remove", path.native());
  return {};
}

std::vector<std::string> link_dirs::ids() const {
  std::vector<std::string> result;
  std::error_code ignored;
  for (fs::directory_iterator i{top_, ignored}, end; i != end; i.increment(ignored))
    if (auto name = i->path().filename().native(); is_sandbox_id(name))
      result.push_back(name);
  return result;
}

} // namespace corral::jail
