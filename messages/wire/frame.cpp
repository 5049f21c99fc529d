#include "messages/wire/frame.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace corral {

namespace {

constexpr size_t large_payload = 32 * 1024; // From here on, one copy less is worth a buffer.

void put_u32(std::string& out, size_t x) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>((x >> shift) & 0xff);
}

uint32_t get_u32(std::string_view in) {
  uint32_t x = 0;
  for (size_t i = 0; i < 4; ++i)
    x = x << 8 | static_cast<unsigned char>(in[i]);
  return x;
}

tl::unexpected<error> bad_frame(std::string text) {
  return failure(errc::invalid_request, "malformed frame: " + std::move(text));
}

} // namespace

std::string encode_frame_head(std::string_view header, size_t payload_bytes) {
  std::string result;
  result.reserve(frame_prefix_bytes + header.size());
  put_u32(result, header.size());
  put_u32(result, payload_bytes);
  result.append(header);
  return result;
}

void frame_decoder::feed(blob bytes) {
  buffered_ += bytes.size();
  if (!bytes.empty())
    pieces_.push_back(std::move(bytes));
}

result<std::optional<frame>> frame_decoder::next() {
  if (fault_)
    return tl::unexpected{*fault_};
  if (large_)
    return finish_large();
  if (!lengths_) {
    if (buffered_ < frame_prefix_bytes)
      return std::nullopt;
    auto prefix = gather(frame_prefix_bytes);
    lengths_.emplace(get_u32(prefix.view()), get_u32(prefix.view().substr(4)));
  }
  auto [header_size, payload_size] = *lengths_;
  if (header_size > fields::max_bytes)
    return fail("a header of " + std::to_string(header_size) + " bytes");
  if (payload_size > max_frame_payload)
    return fail("a payload of " + std::to_string(payload_size) + " bytes");
  if (buffered_ < size_t{header_size} + payload_size) {
    if (payload_size < large_payload || buffered_ < header_size)
      return std::nullopt;
    auto header = fields::parse(gather(header_size).view());
    if (!header)
      return fail("the header is " + header.error());
    header_ = std::move(*header);
    begin_large();
    return std::nullopt;
  }
  lengths_.reset();
  auto header = fields::parse(gather(header_size).view());
  if (!header)
    return fail("the header is " + header.error());
  return frame{std::move(*header), gather(payload_size)};
}

/// Moves what has come of the payload to where the rest will be read.
void frame_decoder::begin_large() {
  large_ = buffers_.take(lengths_->second);
  filled_ = 0;
  for (auto& x : pieces_) {
    std::memcpy(large_.get() + filled_, x.data(), x.size());
    filled_ += x.size();
  }
  pieces_.clear();
  buffered_ = 0;
}

result<std::optional<frame>> frame_decoder::finish_large() {
  size_t size = lengths_->second;
  auto taken = gather(std::min(size - filled_, buffered_));
  if (!taken.empty())
    std::memcpy(large_.get() + filled_, taken.data(), taken.size());
  filled_ += taken.size();
  if (filled_ < size)
    return std::nullopt;
  std::string_view bytes{large_.get(), size};
  frame whole{std::move(*header_), blob{std::exchange(large_, nullptr), bytes}};
  header_.reset();
  lengths_.reset();
  return whole;
}

std::span<char> frame_decoder::space() {
  if (!large_ || fault_)
    return {};
  return {large_.get() + filled_, lengths_->second - filled_};
}

tl::unexpected<error> frame_decoder::fail(std::string text) {
  auto failed = bad_frame(std::move(text));
  fault_ = failed.value();
  lengths_.reset();
  return failed;
}

size_t frame_decoder::missing() const {
  if (!lengths_)
    return 0;
  if (large_)
    return lengths_->second - filled_ - std::min(buffered_, lengths_->second - filled_);
  auto whole = size_t{lengths_->first} + lengths_->second;
  return whole > buffered_ ? whole - buffered_ : 0;
}

blob frame_decoder::gather(size_t count) {
  std::vector<blob> taken;
  buffered_ -= count;
  while (count > 0) {
    auto& first = pieces_.front();
    auto n = std::min(count, first.size());
    taken.push_back(first.slice(0, n));
    first = first.slice(n);
    if (first.empty())
      pieces_.pop_front();
    count -= n;
  }
  return join(taken);
}

frame_sender::frame_sender(int64_t re, message x)
    : re_{re}, first_header_{std::move(x.header)}, total_{x.payload_size()} {
  auto described = !x.parts.empty() && !(x.parts.size() == 1 && x.parts.front().name.empty());
  if (described)
    first_header_.set("parts", x.sizes());
  for (auto& p : x.parts)
    push(std::move(p.data));
}

frame_sender::frame_sender(int64_t re, const fields& header, uint64_t total)
    : re_{re}, first_header_{header}, total_{total} {}

void frame_sender::push(blob bytes) {
  buffered_ += bytes.size();
  if (!bytes.empty())
    pieces_.push_back(std::move(bytes));
}

std::optional<std::pair<std::string, blob>> frame_sender::next() {
  auto allowed = std::min({uint64_t{max_frame_payload}, credit_, buffered_});
  if (done_ || (allowed == 0 && sent_ < total_ && started_))
    return std::nullopt;
  std::vector<blob> taken;
  for (auto left = allowed; left > 0;) {
    auto& first = pieces_.front();
    auto n = std::min<uint64_t>(left, first.size());
    taken.push_back(first.slice(0, n));
    first = first.slice(n);
    if (first.empty())
      pieces_.pop_front();
    left -= n;
  }
  sent_ += allowed;
  credit_ -= allowed;
  buffered_ -= allowed;
  done_ = sent_ >= total_;
  auto header = started_ ? fields{} : std::move(first_header_);
  started_ = true;
  header.set("re", re_);
  if (done_)
    header.merge(trailer_);
  else
    header.set("more", true);
  return std::pair{encode_frame_head(header.dump(), allowed), join(taken)};
}

result<void> frame_assembler::start(fields header) {
  auto total = stated_total(header);
  if (!total || *total > limit_)
    return bad_frame(total ? "a message of " + std::to_string(*total) + " bytes"
                           : "parts must be a list of [name, bytes]");
  if (header.has("parts"))
    total_ = total;
  header_ = std::move(header);
  return {};
}

result<std::optional<message>> frame_assembler::add(frame x) {
  auto more = has_more(x.header);
  if (header_ && !more && x.header.flag("ok") == false)
    return message::cut(std::move(x.header), x.payload);
  if (header_ && more && x.payload.empty())
    return bad_frame("it brings nothing and promises more");
  if (!header_) {
    if (auto started = start(std::move(x.header)); !started)
      return tl::unexpected{started.error()};
  } else if (!more) {
    header_->merge(x.header.erase("parts"));
  }
  received_ += x.payload.size();
  if (received_ > total_.value_or(limit_) || (!more && received_ < total_.value_or(0)))
    return bad_frame("its payload is not what its parts state");
  pieces_.push_back(std::move(x.payload));
  if (more)
    return std::nullopt;
  header_->erase("more");
  return message::cut(std::move(*header_), join(pieces_));
}

bool has_more(const fields& header) {
  return header.flag("more").value_or(false);
}

std::optional<uint64_t> stated_total(const fields& header) {
  if (!header.has("parts"))
    return 0;
  auto sizes = header.sizes("parts");
  if (!sizes)
    return std::nullopt;
  uint64_t total = 0;
  for (auto& [name, size] : *sizes)
    if (__builtin_add_overflow(total, size, &total))
      return std::nullopt;
  return total;
}

std::string encode_credit(int64_t re, uint64_t bytes) {
  fields header;
  header.set("op", "credit").set("re", re).set("bytes", bytes);
  return encode_frame_head(header.dump(), 0);
}

} // namespace corral
