#include "apps/cli/progress.hpp"

#include "apps/cli/terminal.hpp"

#include <algorithm>

namespace corral::cli {

namespace {

constexpr std::chrono::milliseconds between_drawings{100};

std::string mebibytes(uint64_t bytes) {
  auto tenths = bytes * 10 / (1024 * 1024);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MiB";
}

} // namespace

std::string progress_text(uint64_t done, std::optional<uint64_t> total) {
  if (!total)
    return mebibytes(done);
  auto percent = *total == 0 ? 100 : std::min<uint64_t>(done * 100 / *total, 100);
  return mebibytes(done) + " of " + mebibytes(*total) + ", " + std::to_string(percent) + " %";
}

progress::~progress() {
  if (drawn_)
    (void)write_to(stream::err, "\r\x1b[K");
}

void progress::advance(uint64_t bytes) {
  done_ += bytes;
  auto now = clock::now();
  if (!shown_ || (drawn_ && now - *drawn_ < between_drawings))
    return;
  drawn_ = now;
  (void)write_to(stream::err,
                 "\r" + printable(what_) + "  " + progress_text(done_, total_) + "\x1b[K");
}

} // namespace corral::cli
