#pragma once

#include "messages/wire/error.hpp"

#include <memory>
#include <string_view>

namespace re2 {
class RE2;
}

namespace corral::guest {

/// A glob pattern as .gitignore and bash's globstar have it:
/// - `*` and `?` match within one name, leading dots too; `[a-z]` and `[!a-z]` match one character;
/// - `**` as a whole name matches any number of names, none included, and at the end whatever lies
///   below; elsewhere it is `*`;
/// - `{a,b}` matches either, nested and with slashes too; a brace without a comma stands for
/// itself;
/// - `\` takes the special meaning from what follows;
/// - without a slash the pattern matches the last name of a path at any depth; with one it matches
///   the whole path, from the root of the search; a slash at the end asks for a directory.
/// Matching takes time linear in the path, whatever the pattern.
class glob_pattern {
public:
  /// `invalid_pattern` if it is empty or too large.
  static result<glob_pattern> compile(std::string_view pattern);

  glob_pattern(glob_pattern&&) noexcept;
  glob_pattern& operator=(glob_pattern&&) noexcept;
  ~glob_pattern();

  /// `path` is relative to the root of the search. Bytes that are not UTF-8 match as U+FFFD.
  bool matches(std::string_view path, bool is_directory = false) const;

private:
  glob_pattern();

  std::unique_ptr<re2::RE2> expression_;
  bool directories_only_ = false;
};

} // namespace corral::guest
