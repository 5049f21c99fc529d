#include "os/random.hpp"

#include <sys/random.h>

#include <cstdlib>

namespace corral {

std::string random_hex(size_t bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string raw(bytes, '\0');
  for (size_t done = 0; done < bytes;) {
    auto n = ::getrandom(raw.data() + done, bytes - done, 0);
    if (n <= 0)
      std::abort(); // No secret is better than a guessable one.
    done += static_cast<size_t>(n);
  }
  std::string result;
  for (unsigned char c : raw) {
    result += digits[c >> 4];
    result += digits[c & 15];
  }
  return result;
}

} // namespace corral
