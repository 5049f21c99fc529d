// A glob is translated to a regular expression for RE2, which matches in linear time and takes
// alternatives without multiplying them out.

#include "guest/files/glob_match.hpp"

#include "guest/files/utf8.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <vector>

namespace corral::guest {

namespace {

/// The braces that form alternatives, by offset: with a partner and a comma between them.
std::set<size_t> alternatives_of(std::string_view pattern) {
  struct open_brace {
    std::vector<size_t> offsets;
    bool has_comma = false;
  };
  std::set<size_t> result;
  std::vector<open_brace> open;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '{') {
      open.push_back({{i}});
    } else if (pattern[i] == ',' && !open.empty()) {
      open.back().offsets.push_back(i);
      open.back().has_comma = true;
    } else if (pattern[i] == '}' && !open.empty()) {
      open.back().offsets.push_back(i);
      if (open.back().has_comma)
        result.insert(open.back().offsets.begin(), open.back().offsets.end());
      open.pop_back();
    }
  }
  return result;
}

std::string class_range(uint32_t low, uint32_t high) {
  char text[40];
  std::snprintf(text, sizeof text, "\\x{%X}-\\x{%X}", low, high);
  return low <= high ? text : "";
}

class translator {
public:
  explicit translator(std::string_view pattern)
      : pattern_{pattern}, alternatives_{alternatives_of(pattern)} {}

  std::string run() {
    while (at_ < pattern_.size())
      take_next();
    return std::move(out_);
  }

private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }
  bool at_end_of_name(size_t i) const {
    return i >= pattern_.size() || pattern_[i] == '/'
           || (alternatives_.contains(i) && pattern_[i] != '{');
  }
  bool at_start_of_name() const {
    return at_ == 0 || pattern_[at_ - 1] == '/'
           || (alternatives_.contains(at_ - 1) && pattern_[at_ - 1] != '}');
  }

  void take_next();
  void take_stars();
  void take_brace();
  bool take_class();
  void take_literal();
  uint32_t take_code_point();

  std::string_view pattern_;
  std::set<size_t> alternatives_;
  size_t at_ = 0;
  std::string out_;
};

void translator::take_next() {
  if (alternatives_.contains(at_))
    return take_brace();
  switch (peek()) {
  case '*':
    return take_stars();
  case '?':
    out_ += "[^/]";
    ++at_;
    return;
  case '[':
    if (take_class())
      return;
    break;
  case '\\':
    at_ += at_ + 1 < pattern_.size() ? 1 : 0;
    break;
  }
  take_literal();
}

void translator::take_stars() {
  auto whole_name = at_start_of_name();
  auto begin = at_;
  while (peek() == '*')
    ++at_;
  if (at_ - begin != 2 || !whole_name || !at_end_of_name(at_)) {
    out_ += "[^/]*";
  } else if (peek() == '/') {
    out_ += "(?:.*/)?";
    ++at_;
  } else {
    out_ += ".+";
  }
}

void translator::take_brace() {
  auto c = pattern_[at_++];
  out_ += c == '{' ? "(?:" : c == ',' ? "|" : ")";
}

void translator::take_literal() {
  auto begin = at_;
  take_code_point();
  out_ += re2::RE2::QuoteMeta({pattern_.data() + begin, at_ - begin});
}

/// The pattern came as JSON, so it is valid UTF-8.
uint32_t translator::take_code_point() {
  auto size = std::max<size_t>(bytes_of_code_points(pattern_.substr(at_), 1), 1);
  auto lead = static_cast<unsigned char>(pattern_[at_]);
  uint32_t result = size == 1 ? lead : lead & (0x7f >> size);
  for (size_t i = 1; i < size; ++i)
    result = result << 6 | (static_cast<unsigned char>(pattern_[at_ + i]) & 0x3f);
  at_ += size;
  return result;
}

/// False if no bracket closes it: then it stands for itself. A class never matches a slash.
bool translator::take_class() {
  auto begin = at_++;
  auto negated = peek() == '!' || peek() == '^';
  at_ += negated ? 1 : 0;
  std::string members;
  for (auto first = true; first || peek() != ']'; first = false) {
    if (peek() == '\\' && at_ + 1 < pattern_.size())
      ++at_;
    if (at_ >= pattern_.size()) {
      at_ = begin;
      return false;
    }
    auto low = take_code_point();
    auto high = low;
    if (peek() == '-' && peek(1) != ']' && at_ + 1 < pattern_.size()) {
      ++at_;
      high = take_code_point();
    }
    auto has_slash = low <= '/' && high >= '/';
    members +=
        has_slash ? class_range(low, '/' - 1) + class_range('/' + 1, high) : class_range(low, high);
  }
  ++at_;
  if (negated)
    out_ += "[^/" + members + "]";
  else
    out_ += members.empty() ? "[^\\x00-\\x{10FFFF}]" : "[" + members + "]";
  return true;
}

re2::RE2::Options options() {
  re2::RE2::Options result;
  result.set_dot_nl(true);
  result.set_log_errors(false);
  result.set_never_capture(true);
  result.set_max_mem(4 << 20);
  return result;
}

} // namespace

glob_pattern::glob_pattern() = default;
glob_pattern::glob_pattern(glob_pattern&&) noexcept = default;
glob_pattern& glob_pattern::operator=(glob_pattern&&) noexcept = default;
glob_pattern::~glob_pattern() = default;

result<glob_pattern> glob_pattern::compile(std::string_view pattern) {
  glob_pattern x;
  while (pattern.starts_with("./"))
    pattern.remove_prefix(2);
  x.directories_only_ = pattern.size() > 1 && pattern.ends_with('/') && !pattern.ends_with("\\/");
  if (x.directories_only_)
    pattern.remove_suffix(1);
  auto anchored = pattern.find('/') != std::string_view::npos;
  if (pattern.starts_with('/'))
    pattern.remove_prefix(1);
  if (pattern.empty())
    return failure(errc::invalid_pattern, "the glob pattern is empty");
  auto text = (anchored ? "" : "(?:.*/)?") + translator{pattern}.run();
  x.expression_ = std::make_unique<re2::RE2>(text, options());
  if (!x.expression_->ok())
    return failure(errc::invalid_pattern,
                   "the glob pattern is too large: " + x.expression_->error());
  return x;
}

bool glob_pattern::matches(std::string_view path, bool is_directory) const {
  if (directories_only_ && !is_directory)
    return false;
  if (!is_utf8(path))
    return matches(replace_invalid_utf8(path), is_directory);
  return re2::RE2::FullMatch({path.data(), path.size()}, *expression_);
}

} // namespace corral::guest
