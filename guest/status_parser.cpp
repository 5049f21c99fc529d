#include "guest/status_parser.hpp"

#include <charconv>

namespace corral::guest {

namespace {

std::optional<int> parse_code(std::string_view text) {
  int code = -1;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), code);
  if (fault != std::errc{} || end != text.data() + text.size() || code < 0 || code > 255)
    return std::nullopt;
  return code;
}

} // namespace

void status_parser::expect(std::string nonce) {
  nonce_ = std::move(nonce);
  nonce_ += '\0';
  buffer_.clear();
}

std::optional<shell_status> status_parser::feed(std::string_view bytes) {
  buffer_.append(bytes);
  if (nonce_.empty()) {
    buffer_.clear();
    return std::nullopt;
  }
  auto found = take();
  // What precedes the report is noise; only a nonce that has half arrived must stay.
  if (!found && buffer_.size() > nonce_.size() && !buffer_.starts_with(nonce_))
    buffer_.erase(0, buffer_.size() - nonce_.size());
  return found;
}

std::optional<shell_status> status_parser::take() {
  for (;;) {
    auto start = buffer_.find(nonce_);
    if (start == std::string::npos)
      return std::nullopt;
    buffer_.erase(0, start);
    auto code_end = buffer_.find('\0', nonce_.size());
    auto end = code_end == std::string::npos ? code_end : buffer_.find('\0', code_end + 1);
    if (end == std::string::npos && buffer_.size() <= nonce_.size() + max_directory)
      return std::nullopt;
    auto code =
        end == std::string::npos
            ? std::nullopt
            : parse_code(std::string_view{buffer_}.substr(nonce_.size(), code_end - nonce_.size()));
    if (code)
      return shell_status{*code, buffer_.substr(code_end + 1, end - code_end - 1)};
    buffer_.erase(0, nonce_.size());
  }
}

} // namespace corral::guest
