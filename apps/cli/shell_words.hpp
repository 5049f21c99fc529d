#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace corral::cli {

/// The word as a shell reads it back, in single quotes if it needs any.
std::string quote_word(std::string_view word);

/// One argument is a script and stays as it is; several are the words of one command.
std::string to_script(const std::vector<std::string>& words);

} // namespace corral::cli
