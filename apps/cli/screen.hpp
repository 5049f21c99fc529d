#pragma once

#include "apps/cli/cli_error.hpp"

#include <termios.h>

#include <optional>
#include <string_view>

namespace corral::cli {

/// The terminal as a page to draw on: the alternate screen without cursor, keys unseen and taken
/// one by one. It is as it was before once this is gone; Ctrl-C must come as a signal that unwinds.
class screen {
public:
  screen();
  ~screen();
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  struct extent {
    size_t lines = 24;
    size_t columns = 80;
  };
  extent size() const;

  cli_result<void> draw(std::string_view text);

  /// Where keys come from; nothing if stdin is no terminal.
  std::optional<int> keys() const;

  /// A key that was pressed; nothing if none was.
  std::optional<char> take_key();

private:
  std::optional<termios> before_; ///< Of stdin, if it is a terminal.
  bool keys_ended_ = false;
};

} // namespace corral::cli
