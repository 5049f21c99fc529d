#include "apps/cli/terminal.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace corral::cli {

bool is_terminal(stream to) {
  return ::isatty(static_cast<int>(to)) == 1;
}

bool wants_colour(stream to) {
  auto refused = std::getenv("NO_COLOR");
  return is_terminal(to) && (refused == nullptr || *refused == '\0');
}

cli_result<void> write_to(stream to, std::string_view bytes) {
  auto fd = static_cast<int>(to);
  while (!bytes.empty()) {
    auto n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) { // Whoever shares the descriptor made it so.
      pollfd p{fd, POLLOUT, 0};
      ::poll(&p, 1, -1);
    } else if (errno != EINTR) {
      auto why = last_os_error("write", to == stream::out ? "stdout" : "stderr");
      return tl::unexpected{cli_error::from_os(why.value())};
    }
  }
  return {};
}

void notice(std::string_view text) {
  (void)write_to(stream::err, "corral: " + printable(text) + "\n");
}

std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (unsigned char c : text)
    if ((c < 0x20 && c != '\n') || c == 0x7f)
      result.append("\\x").append(1, digits[c >> 4]).append(1, digits[c & 15]);
    else
      result.append(1, static_cast<char>(c));
  return result;
}

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  std::string result;
  for (auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      result += row[i];
      if (i + 1 < row.size())
        result.append(widths[i] - row[i].size() + 2, ' ');
    }
    result += '\n';
  }
  return result;
}

} // namespace corral::cli
