// The low-level calls are deprecated, but the others pull in 2.7 MiB that each guest would hold.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "guest/files/sha256.hpp"

#include <openssl/sha.h>

namespace corral::guest {

struct sha256::state {
  SHA256_CTX context;
};

sha256::sha256() : state_{std::make_unique<state>()} {
  SHA256_Init(&state_->context);
}

sha256::~sha256() = default;

void sha256::update(std::string_view bytes) {
  SHA256_Update(&state_->context, bytes.data(), bytes.size());
}

std::string sha256::hex() {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_Final(digest, &state_->context);
  std::string result;
  for (auto x : digest) {
    result += "0123456789abcdef"[x >> 4];
    result += "0123456789abcdef"[x & 15];
  }
  return result;
}

} // namespace corral::guest
