#pragma once

#include "guest/script_text.hpp"
#include "os/files.hpp"

#include <optional>
#include <string>

namespace corral::guest {

/// The directory through which the session and bash talk. Agent code runs under the same uid and
/// can damage it, so all of it can be made anew at any time.
class control_dir {
public:
  explicit control_dir(std::filesystem::path directory) : paths_{std::move(directory)} {}

  const control_paths& paths() const { return paths_; }

  /// Makes the directory and the files that stay the same; what is there already is overwritten.
  os_result<void> create();

  os_result<void> write_command(std::string_view text);
  os_result<void> write_scope(std::string_view enter, std::string_view leave);
  /// Empties the files of a command's scope, which may hold secrets.
  void clear_scope();

  /// Makes a dump that is whole the state to restore; the directory in it, if there was one.
  std::optional<std::string> adopt_dump();
  bool has_state() const;
  void forget_state();

private:
  control_paths paths_;
  unique_fd command_; // Kept open: one system call less for every command.
  bool scope_written_ = false;
};

/// Tells whether the command's own first line has run, which no output or exit code proves: opening
/// a FIFO for writing leaves a trace at its reader.
class start_mark {
public:
  explicit start_mark(const control_paths& paths) : path_{paths.mark} {}

  /// Makes it ready for the next command.
  os_result<void> arm();
  /// The next `arm` makes it anew.
  void discard();
  const unique_fd& reader() const { return reader_; }

  /// True if the command has started, or if the mark was tampered with, so that it may have.
  bool is_set() const;

private:
  /// False if agent code has put something else where it was.
  bool in_place() const;
  /// Some process has it open for writing, or had since `arm`.
  bool was_opened() const;

  std::string path_;
  unique_fd reader_;
};

} // namespace corral::guest
