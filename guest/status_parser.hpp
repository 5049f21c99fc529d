#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace corral::guest {

/// What the shell says of itself after a command.
struct shell_status {
  int exit_code = 0; ///< 0 to 255.
  std::string directory;
};

/// Finds one command's report `NONCE \0 code \0 directory \0` among whatever else reaches the
/// status pipe. Agent code can write there too: a report that breaks the form is skipped.
class status_parser {
public:
  static constexpr size_t max_directory = 64 * 1024;

  /// Forgets what came before and looks for this nonce from now on.
  void expect(std::string nonce);

  /// The report, as soon as all of it is there.
  std::optional<shell_status> feed(std::string_view bytes);

private:
  std::optional<shell_status> take();

  std::string nonce_; // With its NUL.
  std::string buffer_;
};

} // namespace corral::guest
