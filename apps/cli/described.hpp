// How the rows of the table describe their arguments to CLI11; for the files of the table only.

#pragma once

#include "apps/cli/arguments.hpp"
#include "messages/wire/ops.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace corral::cli {

/// What a value names. Completion looks it up, so it is CLI11's type name; help shows the
/// `option_text`, in which a `|` stands between words to choose from.
namespace value_of {
inline constexpr auto thread = "THREAD";
inline constexpr auto sandbox = "SANDBOX";
inline constexpr auto user = "USER";
inline constexpr auto pool = "POOL";
inline constexpr auto file = "FILE";
inline constexpr auto place = "PLACE"; ///< A file of this machine, or THREAD:PATH.
} // namespace value_of

/// Adapts a parser to CLI11, which wants the complaint or nothing.
template <class Parser>
auto checked_by(Parser parse) {
  return [parse](const std::string& text) {
    auto x = parse(text);
    return x ? std::string{} : x.error();
  };
}

/// The thread or id of a sandbox that the command may make: --thread, --sandbox, --user.
void add_target(CLI::App& app, target& to);

/// The sandbox that the command is about, which has to be there: ID, or --thread and --user.
void add_existing(CLI::App& app, target& to);

void add_thread(CLI::App& app, target& to, const char* summary);
void add_user(CLI::App& app, std::string& user,
              const char* summary = "The thread's user [default]");
void add_pool(CLI::App& app, target& to);

} // namespace corral::cli
