// The low-level calls are deprecated, but the others look the algorithm up by name each time.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "messages/wire/owner.hpp"

#include "os/random.hpp"

#include <openssl/sha.h>

#include <algorithm>

namespace corral {

std::string sandbox_id_of(const owner& x) {
  static constexpr char digits[] = "0123456789abcdef";
  auto text = x.user == "default" ? x.thread : x.user + ":" + x.thread;
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256_CTX sum;
  SHA256_Init(&sum);
  SHA256_Update(&sum, text.data(), text.size());
  SHA256_Final(hash, &sum);
  std::string result;
  for (int i = 0; i < 8; ++i) {
    result += digits[hash[i] >> 4];
    result += digits[hash[i] & 15];
  }
  return result;
}

std::string random_sandbox_id() {
  return random_hex(8);
}

bool is_sandbox_id(std::string_view x) {
  return x.size() == 16 && std::all_of(x.begin(), x.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

} // namespace corral
