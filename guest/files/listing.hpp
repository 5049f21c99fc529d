#pragma once

#include "guest/files/dir_walk.hpp"
#include "guest/files/file_call.hpp"
#include "guest/files/result_lines.hpp"

namespace corral::guest {

/// What a search starts at: a directory, or where allowed a file.
struct search_root {
  unique_fd fd; ///< O_PATH.
  bool is_directory = false;
};

/// `not_a_directory` for files unless they are allowed; `not_regular_file` for what is neither;
/// `permission_denied` for /proc, whose entries are not an agent's files.
result<search_root> open_search_root(const file_call& call, bool files_allowed);

/// The walk and the room for results that the fields of the call ask for.
dir_walk walk_below(const file_call& call, const search_root& root, walk_options options = {});
result_lines room_for_results(const file_call& call, int64_t default_max);

/// The path of what a walk found, as agents name it.
std::string path_of_entry(const file_call& call, std::string_view relative);

} // namespace corral::guest
