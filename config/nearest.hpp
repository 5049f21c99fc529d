#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace corral {

/// Levenshtein's distance: insertions, deletions and replacements of single bytes.
size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate with the least distance, the first of equals; empty if there are none.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

} // namespace corral
