#pragma once

#include "guest/files/file_settings.hpp"
#include "messages/wire/error.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace corral::guest {

enum class purpose : uint8_t { read, change };

/// Where a path leads once its links are followed.
struct place {
  unique_fd root;      ///< O_PATH; nothing outside it can be reached by `beneath`.
  std::string beneath; ///< Neither links nor `..` when it was looked up; "." for the root itself.
  size_t missing = 0;  ///< How many of its last components don't exist.
};

/// From paths as agents give them to files. Links are followed in text and each file is then opened
/// with `open_beneath`, which refuses links: whatever other processes swap meanwhile, it is
/// opened beneath its mount or not at all.
class path_resolver {
public:
  /// `settings` must outlive it.
  explicit path_resolver(const file_settings& settings) : settings_{settings} {}

  /// The absolute path without `.`, `..` and double slashes; `..` ends at `/`. Looks at no file.
  /// `invalid_request` for NUL and for paths over 4096 bytes.
  result<std::string> normalise(std::string_view requested) const;

  /// Follows the links of a normalised path. A link that leads out of the mount it lies in is
  /// `permission_denied`, as are the entries of processes in /proc; a change where nothing may be
  /// changed is `read_only`. What doesn't exist is `file_not_found` for `read`.
  result<place> resolve(const std::string& path, purpose wanted) const;

  /// Resolves and takes `step` with the place; again if the path changed in between (`busy`), up to
  /// a limit.
  template <class Step>
  auto settle(const std::string& path, purpose wanted, Step&& step) const
      -> decltype(step(std::declval<place&>())) {
    constexpr int max_attempts = 32;
    for (int attempt = 1;; ++attempt) {
      auto at = resolve(path, wanted);
      if (at) {
        auto taken = step(*at);
        if (taken || taken.error().code != errc::busy || attempt == max_attempts)
          return taken;
      } else if (at.error().code != errc::busy || attempt == max_attempts) {
        return tl::unexpected{at.error()};
      }
    }
  }

  /// The mount that a normalised path lies in; null for the rest of the view.
  const mount_point* mount_of(std::string_view path) const;

private:
  const file_settings& settings_;
};

/// The names a path is made of, without empty ones and `.`.
std::vector<std::string> components_of(std::string_view path);

/// The reverse for names relative to a root; "." for none.
std::string join_components(const std::vector<std::string>& names);

} // namespace corral::guest
