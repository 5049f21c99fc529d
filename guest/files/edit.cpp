// str_replace.

#include "guest/files/file_call.hpp"
#include "guest/files/readable_file.hpp"
#include "guest/files/staged_file.hpp"
#include "guest/files/utf8.hpp"

#include <string.h>

#include <vector>

namespace corral::guest {

namespace {

constexpr size_t piece_bytes = 64 * 1024;

result<message> receive_parts(file_call& call) {
  std::vector<blob> pieces;
  size_t received = 0;
  for (;;) {
    if (auto checked = call.check(); !checked)
      return tl::unexpected{checked.error()};
    auto piece = call.in->next();
    if (!piece)
      return tl::unexpected{piece.error()};
    if (piece->empty())
      return message::cut(call.header, join(pieces));
    received += piece->size();
    if (received > max_payload_bytes)
      return call.fail(errc::invalid_request, "old and new have more than 16 MiB");
    pieces.push_back(std::move(*piece));
  }
}

result<std::string> read_text(const file_call& call) {
  auto file = readable_file::open(call.paths, call.path, purpose::change);
  if (!file)
    return tl::unexpected{file.error()};
  if (file->size() > call.settings.text_max_bytes)
    return call.fail(errc::file_too_large, "files to edit have at most "
                                               + std::to_string(call.settings.text_max_bytes)
                                               + " bytes, use a command such as sed");
  std::string content;
  content.reserve(file->size());
  text_checker text;
  while (content.size() <= call.settings.text_max_bytes) {
    if (auto checked = call.check(); !checked)
      return tl::unexpected{checked.error()};
    auto piece = file->read_at(content.size(), piece_bytes);
    if (!piece)
      return tl::unexpected{piece.error()};
    if (piece->empty())
      break;
    if (!text.feed(piece->view()))
      break;
    content.append(piece->view());
  }
  if (!text.complete())
    return call.fail(errc::not_text, "not UTF-8 text, use a command or update_file");
  return content;
}

/// One replacement of all that stands there, byte by byte. Searching takes linear time whatever
/// stands there (memmem), unlike std::string's find.
class replacement {
public:
  replacement(const file_call& call, std::string_view text, std::string_view old,
              std::string_view now)
      : call_{call}, text_{text}, old_{old}, now_{now} {}

  result<uint64_t> count() const;
  result<void> write_to(staged_file& target);

private:
  /// The first place from `offset` on; npos if there is none.
  size_t find(size_t offset) const {
    auto at = static_cast<const char*>(
        ::memmem(text_.data() + offset, text_.size() - offset, old_.data(), old_.size()));
    return at ? static_cast<size_t>(at - text_.data()) : std::string_view::npos;
  }
  result<void> put(staged_file& target, std::string_view bytes);

  const file_call& call_;
  std::string_view text_;
  std::string_view old_;
  std::string_view now_;
  std::string buffer_; // Many small pieces make one write.
};

result<uint64_t> replacement::count() const {
  uint64_t found = 0;
  for (auto at = find(0); at != std::string_view::npos; at = find(at + old_.size()))
    if (++found % piece_bytes == 0)
      if (auto checked = call_.check(); !checked)
        return tl::unexpected{checked.error()};
  return found;
}

result<void> replacement::write_to(staged_file& target) {
  size_t done = 0;
  for (auto at = find(0); at != std::string_view::npos; at = find(done)) {
    for (auto piece : {text_.substr(done, at - done), now_})
      if (auto put_it = put(target, piece); !put_it)
        return put_it;
    done = at + old_.size();
  }
  if (auto put_it = put(target, text_.substr(done)); !put_it)
    return put_it;
  return target.write(buffer_);
}

result<void> replacement::put(staged_file& target, std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() < piece_bytes)
    return {};
  if (auto checked = call_.check(); !checked)
    return checked;
  auto written = target.write(buffer_);
  buffer_.clear();
  return written;
}

result<void> check_count(const file_call& call, uint64_t count) {
  if (count == 0)
    return call.fail(errc::match_not_found,
                     "the old text is not there, check white space and line endings");
  if (count == 1 || call.flag("replace_all"))
    return {};
  return failure(errc::match_not_unique,
                 "the old text stands " + std::to_string(count)
                     + " times, give more of its surroundings or set replace_all: " + call.path,
                 fields{}.set("count", count));
}

result<void> replace_in_file(const file_call& call, replacement& change) {
  auto to = destination::open(call);
  if (!to)
    return tl::unexpected{to.error()};
  auto content = staged_file::create(call, *to);
  if (!content)
    return tl::unexpected{content.error()};
  if (auto written = change.write_to(*content); !written)
    return written;
  if (auto checked = call.check(); !checked)
    return checked;
  return content->commit();
}

} // namespace

result<void> str_replace(file_call& call) {
  auto parts = receive_parts(call);
  if (!parts)
    return tl::unexpected{parts.error()};
  auto old = parts->part_of("old");
  auto now = parts->part_of("new");
  if (old.empty())
    return call.fail(errc::invalid_request, "the old text is empty");
  auto text = read_text(call);
  if (!text)
    return tl::unexpected{text.error()};
  replacement change{call, *text, old.view(), now.view()};
  auto count = change.count();
  if (!count)
    return tl::unexpected{count.error()};
  if (auto checked = check_count(call, *count); !checked)
    return checked;
  if (text->size() + *count * now.size() > call.settings.transfer_max_bytes + *count * old.size())
    return call.fail(errc::file_too_large, "the file would grow over the limit of one transfer");
  auto replaced = replace_in_file(call, change);
  if (replaced)
    call.out->finish(make_reply(fields{}.set("replacements", *count)));
  return replaced;
}

} // namespace corral::guest
