#include "guest/files/result_lines.hpp"

#include "guest/files/utf8.hpp"

#include <algorithm>

namespace corral::guest {

namespace {

std::string name_hex(std::string_view path) {
  if (path.ends_with('/'))
    path.remove_suffix(1);
  std::string result;
  for (auto x : path.substr(path.rfind('/') + 1)) {
    result += "0123456789abcdef"[static_cast<unsigned char>(x) >> 4];
    result += "0123456789abcdef"[static_cast<unsigned char>(x) & 15];
  }
  return result;
}

} // namespace

bool result_lines::add(const std::string& path, fields line) {
  line.set("path", replace_invalid_utf8(path));
  if (!is_utf8(path))
    line.set("name_hex", name_hex(path));
  auto text = line.dump() + '\n';
  if (truncated_ || entries_.size() == max_lines_ || bytes_ + text.size() > max_bytes_) {
    truncated_ = true;
    return false;
  }
  bytes_ += text.size();
  entries_.push_back({path, std::move(text)});
  return true;
}

message result_lines::take_reply(fields result) {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](auto& a, auto& b) { return a.path < b.path; });
  std::string all;
  all.reserve(bytes_);
  for (auto& x : entries_)
    all.append(x.line);
  entries_.clear();
  auto reply = make_reply(result.set("truncated", truncated_));
  reply.add_part("results", blob::take(std::move(all)));
  return reply;
}

} // namespace corral::guest
