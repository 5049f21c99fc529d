#include "guest/key_store.hpp"

// SHA256_* is marked as old in favour of EVP, which costs 2.7 MiB of memory in a static program.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "guest/capture.hpp"

#include <array>

namespace corral::guest {

namespace {

std::string shorten(const std::string& text, size_t limit) {
  if (text.size() <= limit)
    return text;
  capture ends{limit / 2, limit / 2};
  ends.append(text);
  return ends.text();
}

} // namespace

key_store::claim key_store::begin(const std::string& key, const std::string& digest,
                                  time_point now) {
  expire(now);
  if (auto i = entries_.find(key); i != entries_.end()) {
    if (i->second.digest != digest)
      return claim::conflict;
    return i->second.result ? claim::finished : claim::join;
  }
  if (entries_.size() >= limits_.keys)
    return claim::full;
  entries_.emplace(key, entry{digest, std::nullopt, {}});
  return claim::run;
}

void key_store::finish(const std::string& key, retained_result x, time_point now) {
  auto i = entries_.find(key);
  if (i == entries_.end() || i->second.result)
    return;
  if (x.out.size() > limits_.stream_bytes || x.err.size() > limits_.stream_bytes)
    x.outcome.set("truncated", true);
  x.out = shorten(x.out, limits_.stream_bytes);
  x.err = shorten(x.err, limits_.stream_bytes);
  memory_ += x.size();
  i->second.result = std::move(x);
  i->second.expires = now + limits_.ttl;
  finished_.push_back(key);
  if (whole_ == finished_.end())
    whole_ = std::prev(finished_.end());
  shrink();
}

void key_store::shrink() {
  for (; memory_ > limits_.memory && whole_ != finished_.end(); ++whole_) {
    auto& result = *entries_.at(*whole_).result;
    if (result.size() == 0)
      continue;
    memory_ -= result.size();
    result = {std::move(result.outcome.set("truncated", true)), {}, {}};
  }
}

void key_store::abandon(const std::string& key) {
  auto i = entries_.find(key);
  if (i != entries_.end() && !i->second.result)
    entries_.erase(i);
}

const retained_result* key_store::find(const std::string& key) const {
  auto i = entries_.find(key);
  return i != entries_.end() && i->second.result ? &*i->second.result : nullptr;
}

void key_store::expire(time_point now) {
  while (!finished_.empty() && entries_.at(finished_.front()).expires <= now) {
    auto i = entries_.find(finished_.front());
    memory_ -= i->second.result->size();
    entries_.erase(i);
    if (whole_ == finished_.begin())
      ++whole_;
    finished_.pop_front();
  }
}

std::optional<key_store::time_point> key_store::next_expiry() const {
  if (finished_.empty())
    return std::nullopt;
  return entries_.at(finished_.front()).expires;
}

std::vector<std::string> key_store::keys(size_t count) const {
  std::vector<std::string> result;
  for (auto& [key, x] : entries_)
    if (!x.result && result.size() < count)
      result.push_back(key);
  for (auto i = finished_.rbegin(); i != finished_.rend() && result.size() < count; ++i)
    result.push_back(*i);
  return result;
}

std::string digest_of(std::initializer_list<std::string_view> parts) {
  SHA256_CTX context;
  SHA256_Init(&context);
  for (auto part : parts) {
    auto size = std::to_string(part.size()) + ":";
    SHA256_Update(&context, size.data(), size.size());
    SHA256_Update(&context, part.data(), part.size());
  }
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash;
  SHA256_Final(hash.data(), &context);
  std::string result;
  for (auto byte : hash)
    for (auto nibble : {byte >> 4, byte & 15})
      result += "0123456789abcdef"[nibble];
  return result;
}

} // namespace corral::guest
