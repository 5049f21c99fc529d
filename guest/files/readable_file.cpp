#include "guest/files/readable_file.hpp"

#include "guest/files/file_error.hpp"
#include "guest/files/open_beneath.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace corral::guest {

result<readable_file> readable_file::open(const path_resolver& paths, const std::string& path,
                                          purpose wanted) {
  auto file = paths.settle(path, wanted, [&](place& at) { return open_at(at, path); });
  if (file && file->size_ == 0)
    if (auto read = file->read_unsized(); !read)
      return tl::unexpected{read.error()};
  return file;
}

result<readable_file> readable_file::open_at(const place& at, const std::string& path) {
  if (at.missing > 0)
    return file_failure(ENOENT, path);
  auto fd = open_beneath(at.root, at.beneath, O_RDONLY);
  if (!fd)
    return file_failure(fd.error().number, path);
  auto x = stat_of(*fd);
  if (!x)
    return file_failure(x.error().number, path);
  if (!S_ISREG(x->st_mode))
    return file_failure(S_ISDIR(x->st_mode) ? EISDIR : ENXIO, path);
  readable_file file;
  file.path_ = path;
  file.fd_ = std::move(*fd);
  file.size_ = static_cast<uint64_t>(x->st_size);
  return file;
}

result<void> readable_file::read_unsized() {
  std::string all;
  for (;;) {
    auto piece = read_at(all.size(), 64 * 1024);
    if (!piece)
      return tl::unexpected{piece.error()};
    if (piece->empty())
      break;
    all.append(piece->view());
    if (all.size() > max_unsized_bytes)
      return failure(errc::file_too_large, "it states no size and has more than "
                                               + std::to_string(max_unsized_bytes)
                                               + " bytes, read it with a command: " + path_);
  }
  size_ = all.size();
  content_ = blob::take(std::move(all));
  return {};
}

result<blob> readable_file::read_at(uint64_t offset, size_t count) {
  if (!content_.empty())
    return content_.slice(offset, count);
  auto buffer = buffers_.take(count);
  for (;;) {
    auto n = ::pread(fd_.get(), buffer.get(), count, static_cast<off_t>(offset));
    if (n >= 0)
      return blob{buffer, {buffer.get(), static_cast<size_t>(n)}};
    if (errno == EAGAIN) // Nothing to read for now is the end of what is not a stream.
      return blob{};
    if (errno != EINTR)
      return file_failure(errno, path_);
  }
}

} // namespace corral::guest
