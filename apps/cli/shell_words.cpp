#include "apps/cli/shell_words.hpp"

#include <algorithm>

namespace corral::cli {

namespace {

/// ~ and = would expand or assign at the start of a word; the rest means itself everywhere.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
         || std::string_view{"_-./:,@%+"}.find(c) != std::string_view::npos;
}

} // namespace

std::string quote_word(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain))
    return std::string{word};
  std::string result = "'";
  for (char c : word)
    c == '\'' ? result.append("'\\''") : result.append(1, c);
  return result + "'";
}

std::string to_script(const std::vector<std::string>& words) {
  if (words.size() == 1)
    return words.front();
  std::string result;
  for (auto& word : words)
    result.append(result.empty() ? "" : " ").append(quote_word(word));
  return result;
}

} // namespace corral::cli
