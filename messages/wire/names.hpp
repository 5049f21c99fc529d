#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace corral {

/// [A-Za-z0-9_-]{1,64}: what threads, users and pools are called.
bool is_valid_name(std::string_view x);

/// [A-Za-z_][A-Za-z0-9_]*: what a shell can export.
bool is_environment_name(std::string_view x);

/// Levenshtein's distance: insertions, deletions and replacements of single bytes.
size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate with the least distance, the first of equals; empty if there are none.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

} // namespace corral
