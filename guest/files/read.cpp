// read_file and download_file.

#include "guest/files/file_call.hpp"
#include "guest/files/readable_file.hpp"
#include "guest/files/sha256.hpp"
#include "guest/files/utf8.hpp"
#include "guest/files/worker_pool.hpp"

#include <algorithm>
#include <limits>
#include <semaphore>

namespace corral::guest {

namespace {

constexpr size_t piece_bytes = 64 * 1024;
constexpr size_t large_piece_bytes = max_frame_payload;

struct byte_range {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
};

/// Sends the content, beginning the reply with its first piece: what fails before that is answered
/// with an error alone.
class content_sender {
public:
  content_sender(file_call& call, uint64_t file_size, uint64_t total) : call_{call}, total_{total} {
    result_.set("size", file_size);
  }

  result<void> send(blob piece) {
    if (!begun_) {
      auto header = make_reply(result_).header;
      header.set("parts", std::vector<std::pair<std::string, uint64_t>>{{"content", total_}});
      call_.out->begin(header, total_);
      begun_ = true;
    }
    return call_.out->write(std::move(piece));
  }

  void end(const fields& trailer) {
    if (begun_) {
      call_.out->end(trailer);
      return;
    }
    auto reply = make_reply(result_.merge(trailer));
    call_.out->finish(std::move(reply.add_part("content", {})));
  }

private:
  file_call& call_;
  fields result_;
  uint64_t total_;
  bool begun_ = false;
};

/// Reads exactly the bytes of a range, in pieces.
template <class Take>
result<void> for_each_piece(const file_call& call, readable_file& file, byte_range range,
                            size_t size, Take&& take) {
  while (range.begin < range.end) {
    if (auto checked = call.check(); !checked)
      return checked;
    auto piece = file.read_at(range.begin, std::min<uint64_t>(size, range.size()));
    if (!piece)
      return tl::unexpected{piece.error()};
    if (piece->empty())
      return call.fail(errc::busy, "it became shorter while it was read, try again");
    range.begin += piece->size();
    if (auto taken = take(std::move(*piece), range.begin == range.end); !taken)
      return taken;
  }
  return {};
}

/// The checksum of a transfer, computed on a thread beside it if it is large: hashing takes a core
/// longer than reading and sending together.
class transfer_sum {
public:
  explicit transfer_sum(uint64_t total) {
    if (total > large_piece_bytes)
      thread_.emplace(1, std::chrono::seconds{1});
  }

  void update(const blob& piece) {
    if (!thread_)
      return sum_.update(piece.view());
    room_.acquire();
    auto hash = [this, piece] {
      sum_.update(piece.view());
      room_.release();
    };
    if (!thread_->submit("", hash))
      hash();
  }

  std::string hex() {
    thread_.reset(); // Has done all by then.
    return sum_.hex();
  }

private:
  sha256 sum_;
  std::counting_semaphore<> room_{4}; // Pieces that wait, so that they don't fill the memory.
  std::optional<worker_pool> thread_;
};

/// Finds the lines `first` to `last`, counted from 1, endings included.
class line_finder {
public:
  line_finder(int64_t first, int64_t last) : first_{first}, last_{last} {}

  /// False once the end is known.
  bool feed(std::string_view piece) {
    while (!piece.empty() && line_ <= last_) {
      auto newline = piece.find('\n');
      auto length = newline == std::string_view::npos ? piece.size() : newline + 1;
      offset_ += length;
      if (line_ < first_)
        begin_ = offset_;
      line_ += newline == std::string_view::npos ? 0 : 1;
      piece.remove_prefix(length);
    }
    return line_ <= last_;
  }

  byte_range range() const { return {begin_, offset_}; }

private:
  int64_t first_;
  int64_t last_;
  int64_t line_ = 1;
  uint64_t offset_ = 0;
  uint64_t begin_ = 0;
};

result<byte_range> range_to_read(const file_call& call, readable_file& file) {
  constexpr auto no_limit = std::numeric_limits<int64_t>::max() - 1;
  auto first = std::max<int64_t>(call.integer("start_line", 1), 1);
  auto last = std::min(call.integer("end_line", no_limit), no_limit);
  if (first == 1 && last == no_limit)
    return byte_range{0, file.size()};
  if (last < first)
    return byte_range{};
  line_finder lines{first, last};
  for (uint64_t offset = 0; offset < file.size();) {
    if (auto checked = call.check(); !checked)
      return tl::unexpected{checked.error()};
    auto piece = file.read_at(offset, std::min<uint64_t>(piece_bytes, file.size() - offset));
    if (!piece)
      return tl::unexpected{piece.error()};
    offset += piece->size();
    if (piece->empty() || !lines.feed(piece->view()))
      break;
  }
  return lines.range();
}

tl::unexpected<error> too_large(const file_call& call, uint64_t size, uint64_t limit,
                                std::string_view advice) {
  fields details;
  details.set("size", size).set("limit", limit);
  return failure(errc::file_too_large,
                 std::to_string(size) + " bytes are over the limit of " + std::to_string(limit)
                     + ", " + std::string{advice} + ": " + call.path,
                 details);
}

} // namespace

result<void> read_file(file_call& call) {
  auto file = readable_file::open(call.paths, call.path);
  if (!file)
    return tl::unexpected{file.error()};
  auto range = range_to_read(call, *file);
  if (!range)
    return tl::unexpected{range.error()};
  if (range->size() > call.settings.text_max_bytes)
    return too_large(call, range->size(), call.settings.text_max_bytes,
                     "read fewer lines with start_line and end_line, or use download_file");
  content_sender sender{call, file->size(), range->size()};
  text_checker text;
  auto sent = for_each_piece(call, *file, *range, piece_bytes, [&](blob piece, bool last) {
    if (!text.feed(piece.view()) || (last && !text.complete()))
      return result<void>{call.fail(errc::not_text, "not UTF-8 text, use download_file")};
    return sender.send(std::move(piece));
  });
  if (sent)
    sender.end({});
  return sent;
}

result<void> download_file(file_call& call) {
  auto file = readable_file::open(call.paths, call.path);
  if (!file)
    return tl::unexpected{file.error()};
  byte_range range{0, file->size()};
  range.begin = std::min<uint64_t>(std::max<int64_t>(call.integer("offset", 0), 0), range.end);
  if (auto length = call.header.integer("length"))
    range.end = range.begin + std::min<uint64_t>(std::max<int64_t>(*length, 0), range.size());
  if (range.size() > call.settings.transfer_max_bytes)
    return too_large(call, range.size(), call.settings.transfer_max_bytes,
                     "ask for a range with offset and length");
  content_sender sender{call, file->size(), range.size()};
  transfer_sum sum{range.size()};
  auto sent = for_each_piece(call, *file, range, large_piece_bytes, [&](blob piece, bool) {
    sum.update(piece);
    return sender.send(std::move(piece));
  });
  if (sent)
    sender.end(fields{}.set("sha256", sum.hex()));
  return sent;
}

} // namespace corral::guest
