#pragma once

#include <string_view>

namespace corral {

/// Where the first byte is that does not belong to UTF-8 text: a control character other than tab
/// and line ends, or a part of a sequence that is cut, overlong, a surrogate or above U+10FFFF.
/// text.size() if all is well.
size_t first_non_text(std::string_view text);

} // namespace corral
