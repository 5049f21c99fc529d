#include "messages/wire/names.hpp"

#include <algorithm>
#include <numeric>

namespace corral {

bool is_valid_name(std::string_view x) {
  return !x.empty() && x.size() <= 64 && std::all_of(x.begin(), x.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || c == '-';
  });
}

bool is_environment_name(std::string_view x) {
  return !x.empty() && !(x[0] >= '0' && x[0] <= '9')
         && std::all_of(x.begin(), x.end(), [](unsigned char c) {
              return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
                     || c == '_';
            });
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  // A key can be as long as the file; what is cut off could not bring it nearer to any name.
  auto head = word.substr(0, 200);
  auto best = std::min_element(candidates.begin(), candidates.end(),
                               [&](const std::string& a, const std::string& b) {
                                 return edit_distance(head, a) < edit_distance(head, b);
                               });
  return best == candidates.end() ? std::string{} : *best;
}

} // namespace corral
