#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace corral::jail {

/// 16 hex digits that differ when the strings do (FNV-1a, 64 bits): to tell settings apart, not to
/// withstand someone who looks for a collision.
inline std::string digest_of(const std::vector<std::string>& strings) {
  uint64_t hash = 0xcbf29ce484222325;
  auto mix = [&](unsigned char c) { hash = (hash ^ c) * 0x100000001b3; };
  for (auto& s : strings) {
    for (unsigned char c : s)
      mix(c);
    mix(0);
  }
  std::string result;
  for (int shift = 60; shift >= 0; shift -= 4)
    result += "0123456789abcdef"[hash >> shift & 15];
  return result;
}

} // namespace corral::jail
