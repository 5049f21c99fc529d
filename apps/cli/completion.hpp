// Completion in the shells: the script that they load, and the answers that it asks for.

#pragma once

#include "apps/cli/daemon_client.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace corral::cli {

/// What may stand where the cursor is, found in the table of commands.
struct completion {
  std::vector<std::string> words; ///< Whole words that begin as the one at the cursor does.
  std::string value;              ///< What kind of value it is (value_of::...); empty: none.
  std::string prefix;             ///< What stands before the value in the same word: "--user=".
  std::string begun;              ///< How the value begins.
  std::map<std::string, std::string> given; ///< Options before it, by long name: "--endpoint".
};

/// For the words after the program's name, of which the last is the one at the cursor.
completion complete(const std::vector<std::string>& words);

/// What the daemon knows of that kind of value: threads (of the user that was given), sandboxes,
/// users, pools. Whole words, as in `completion::words`.
cli_result<std::vector<std::string>> values_of(daemon_client& client, const completion& x);

/// True if files of this machine may stand there.
bool takes_file(const completion& x);

/// True if `values_of` may know something.
bool asks_daemon(const completion& x);

/// The script for "bash" or "zsh". It runs `corral __complete WORD...`, which prints a candidate a
/// line, and ":files" where the shell is to add file names.
std::string completion_script(std::string_view shell);

} // namespace corral::cli
