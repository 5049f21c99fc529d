#include "apps/cli/screen.hpp"

#include "apps/cli/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

namespace corral::cli {

screen::screen() {
  termios t{};
  if (::tcgetattr(STDIN_FILENO, &t) == 0) {
    before_ = t;
    t.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    for (auto key : {VSUSP, VQUIT}) // They would leave the terminal as it is now.
      t.c_cc[key] = _POSIX_VDISABLE;
    t.c_cc[VMIN] = 1;
    t.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &t);
  }
  (void)write_to(stream::out, "\x1b[?1049h\x1b[?25l");
}

screen::~screen() {
  (void)write_to(stream::out, "\x1b[?25h\x1b[?1049l");
  if (before_)
    ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
}

screen::extent screen::size() const {
  winsize w{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_row == 0 || w.ws_col == 0)
    return {};
  return {w.ws_row, w.ws_col};
}

cli_result<void> screen::draw(std::string_view text) {
  std::string page = "\x1b[H";
  while (!text.empty()) {
    auto end = std::min(text.find('\n'), text.size());
    page.append(text.substr(0, end)).append("\x1b[K");
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!text.empty())
      page += "\r\n";
  }
  return write_to(stream::out, page + "\x1b[J");
}

std::optional<int> screen::keys() const {
  return before_ && !keys_ended_ ? std::optional<int>{STDIN_FILENO} : std::nullopt;
}

std::optional<char> screen::take_key() {
  pollfd p{STDIN_FILENO, POLLIN, 0};
  if (!keys() || ::poll(&p, 1, 0) <= 0)
    return std::nullopt;
  char key = 0;
  if (::read(STDIN_FILENO, &key, 1) == 1)
    return key;
  keys_ended_ = true;
  return std::nullopt;
}

} // namespace corral::cli
