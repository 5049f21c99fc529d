#include "config/config_error.hpp"

namespace corral {

namespace {

/// Printable ASCII, the rest as \xNN, cut after `longest` bytes.
std::string printable(std::string_view text, size_t longest, std::string_view also_escaped) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (char c : text.substr(0, longest)) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f)
      result.append("\\x").append({digits[byte >> 4], digits[byte & 15]});
    else if (also_escaped.find(c) != std::string_view::npos)
      result.append({'\\', c});
    else
      result += c;
  }
  return result + (text.size() > longest ? "..." : "");
}

} // namespace

std::string to_string(const config_error& x) {
  std::string result = x.file;
  if (x.line != 0)
    result += ":" + std::to_string(x.line);
  if (!result.empty())
    result += ": ";
  if (!x.key.empty())
    result += printable(x.key, 160, "") + ": ";
  return result + x.message;
}

std::string to_string(const config_errors& xs) {
  std::string result;
  for (const auto& x : xs)
    result += to_string(x) + "\n";
  return result;
}

std::string quoted_for_message(std::string_view text) {
  return "\"" + printable(text, 80, "\"\\") + "\"";
}

} // namespace corral
