#include "messages/wire/owner.hpp"

#include "os/random.hpp"

#include <openssl/sha.h>

#include <algorithm>

namespace corral {

std::string sandbox_id_of(const owner& x) {
  static constexpr char digits[] = "0123456789abcdef";
  auto text = x.user == "default" ? x.thread : x.user + ":" + x.thread;
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash);
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
