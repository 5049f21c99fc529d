#pragma once

#include <cstdint>
#include <string_view>

namespace corral::cli {

/// One output stream of a running command on its way to ours. The daemon drops what comes faster
/// than it is taken; the reply then still has the whole of a stream of up to a MiB.
class followed_stream {
public:
  /// `live`: after a gap go on with what comes, as a person wants it. Else nothing that follows a
  /// gap is passed on before the reply can fill it, so that what was written has no hole.
  explicit followed_stream(bool live) : live_{live} {}

  /// What is to be written of a chunk that starts at `offset` of the stream.
  std::string_view take(uint64_t offset, std::string_view bytes);

  /// What is still to be written when the command has ended: `whole` is the reply's part, which
  /// falls short of `total` if the stream was too long to keep.
  std::string_view rest(std::string_view whole, uint64_t total);

  /// Bytes that were not and can no longer be written.
  uint64_t lost() const { return lost_; }

private:
  bool live_;
  bool stalled_ = false;
  uint64_t next_ = 0; ///< Offset of the first byte not yet written.
  uint64_t lost_ = 0;
};

} // namespace corral::cli
