#include "guest/files/glob_match.hpp"
#include "guest/files/listing.hpp"
#include "guest/files/open_beneath.hpp"
#include "guest/files/utf8.hpp"

#include <fcntl.h>
#include <re2/re2.h>

#include <cerrno>

namespace corral::guest {

namespace {

constexpr size_t max_file_bytes = 1'000'000;
constexpr size_t binary_sample_bytes = 8192;
constexpr size_t piece_bytes = 64 * 1024;
// In code points:
constexpr size_t max_searched_line = 2000;
constexpr size_t max_shown_line = 200;

std::string shown_line(std::string_view line) {
  if (count_code_points(line) <= max_shown_line)
    return std::string{line};
  return std::string{line.substr(0, bytes_of_code_points(line, max_shown_line - 3))} + "...";
}

/// One grep under way.
class searcher {
public:
  searcher(const file_call& call, const re2::RE2& expression)
      : call_{call}, expression_{expression}, lines_{room_for_results(call, 100)} {}

  /// False once there is no more room for results.
  result<bool> search(const unique_fd& file, const std::string& shown);

  void skip_file() { ++skipped_files_; }

  void finish(bool incomplete);

private:
  result<bool> read(const unique_fd& file);
  bool search_content(const std::string& shown);
  bool search_line(std::string_view line, const std::string& shown, int64_t number);

  const file_call& call_;
  const re2::RE2& expression_;
  result_lines lines_;
  std::string content_; // Of the file being searched.
  int64_t skipped_files_ = 0;
  int64_t skipped_lines_ = 0;
};

result<bool> searcher::search(const unique_fd& file, const std::string& shown) {
  auto is_text = read(file);
  if (!is_text)
    return is_text;
  if (*is_text)
    return search_content(shown);
  skip_file();
  return true;
}

/// False if the file is not to be searched: binary, too large, or unreadable.
result<bool> searcher::read(const unique_fd& file) {
  content_.clear();
  auto x = stat_of(file);
  if (!x || !S_ISREG(x->st_mode) || x->st_size > static_cast<off_t>(max_file_bytes))
    return false;
  for (;;) {
    if (auto checked = call_.check(); !checked)
      return tl::unexpected{checked.error()};
    auto before = content_.size();
    content_.resize(before + piece_bytes);
    auto n = ::read(file.get(), content_.data() + before, piece_bytes);
    content_.resize(before + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 || content_.size() > max_file_bytes)
      return false;
    if (n == 0)
      return true;
    if (before < binary_sample_bytes
        && std::string_view{content_}.substr(0, binary_sample_bytes).find('\0')
               != std::string_view::npos)
      return false;
  }
}

bool searcher::search_content(const std::string& shown) {
  if (!is_utf8(content_))
    content_ = replace_invalid_utf8(content_);
  std::string_view rest = content_;
  for (int64_t number = 1; !rest.empty(); ++number) {
    auto line = rest.substr(0, rest.find('\n'));
    auto with_ending = std::min(rest.size(), line.size() + 1);
    if (with_ending > max_searched_line
        && count_code_points(rest.substr(0, with_ending)) > max_searched_line)
      ++skipped_lines_;
    else if (!search_line(line, shown, number))
      return false;
    rest.remove_prefix(with_ending);
  }
  return true;
}

bool searcher::search_line(std::string_view line, const std::string& shown, int64_t number) {
  while (line.ends_with('\r'))
    line.remove_suffix(1);
  if (!re2::RE2::PartialMatch({line.data(), line.size()}, expression_))
    return true;
  fields found;
  found.set("line_number", number).set("line", shown_line(line));
  return lines_.add(shown, std::move(found));
}

void searcher::finish(bool incomplete) {
  if (incomplete)
    lines_.set_truncated();
  fields result;
  result.set("skipped_files", skipped_files_).set("skipped_lines", skipped_lines_);
  call_.out->finish(lines_.take_reply(std::move(result)));
}

re2::RE2::Options options_of(const file_call& call) {
  re2::RE2::Options result;
  result.set_log_errors(false);
  result.set_literal(call.flag("literal"));
  result.set_case_sensitive(call.flag("case_sensitive"));
  result.set_never_capture(true);
  result.set_max_mem(8 << 20);
  return result;
}

result<void> search_directory(const file_call& call, const search_root& root,
                              const std::optional<glob_pattern>& filter, searcher& searching) {
  auto walk = walk_below(call, root);
  for (;;) {
    auto entry = walk.next();
    if (!entry)
      return tl::unexpected{entry.error()};
    if (!*entry)
      break;
    auto& x = **entry;
    if (x.type != entry_type::file || (filter && !filter->matches(x.path)))
      continue;
    auto file = open_beneath(root.fd, x.path, O_RDONLY);
    if (!file) {
      searching.skip_file();
      continue;
    }
    auto more = searching.search(*file, path_of_entry(call, x.path));
    if (!more)
      return tl::unexpected{more.error()};
    if (!*more)
      break;
  }
  searching.finish(walk.incomplete());
  return {};
}

/// A path that names one file.
result<void> search_file(const file_call& call, const std::optional<glob_pattern>& filter,
                         searcher& searching) {
  auto open = [&](place& at) -> result<unique_fd> {
    auto file = open_beneath(at.root, at.beneath, O_RDONLY);
    if (!file)
      return call.fail(file.error().number);
    return std::move(*file);
  };
  auto file = call.paths.settle(call.path, purpose::read, open);
  if (!file)
    return tl::unexpected{file.error()};
  std::string_view name{call.path};
  name.remove_prefix(name.rfind('/') + 1);
  if (!filter || filter->matches(name))
    if (auto searched = searching.search(*file, call.path); !searched)
      return tl::unexpected{searched.error()};
  searching.finish(false);
  return {};
}

} // namespace

result<void> grep(file_call& call) {
  auto pattern = call.header.text("pattern").value_or("");
  re2::RE2 expression{pattern, options_of(call)};
  if (!expression.ok())
    return failure(errc::invalid_pattern, expression.error()
                                              + "; the syntax is RE2's, without look-around and "
                                                "back-references; for fixed text set literal");
  std::optional<glob_pattern> filter;
  if (auto text = call.header.text("glob")) {
    auto compiled = glob_pattern::compile(*text);
    if (!compiled)
      return tl::unexpected{compiled.error()};
    filter.emplace(std::move(*compiled));
  }
  auto root = open_search_root(call, true);
  if (!root)
    return tl::unexpected{root.error()};
  searcher searching{call, expression};
  return root->is_directory ? search_directory(call, *root, filter, searching)
                            : search_file(call, filter, searching);
}

} // namespace corral::guest
