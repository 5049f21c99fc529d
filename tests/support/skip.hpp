#pragma once

#include <cstdio>

namespace corral::test {

/// For `doctest::skip`: true, having said why, where a test can't run. scripts/test shows the line.
inline bool skip_unless(bool possible, const char* test, const char* why) {
  if (!possible)
    std::printf("skipped: %s: %s\n", test, why);
  return !possible;
}

} // namespace corral::test
