#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace corral {

/// Immutable bytes with shared ownership: copying and slicing copy no bytes. A slice keeps the
/// whole buffer alive.
class blob {
public:
  blob() = default;

  /// Bytes kept alive by `owner`, such as a received ZeroMQ message.
  blob(std::shared_ptr<const void> owner, std::string_view bytes)
      : owner_{std::move(owner)}, bytes_{bytes} {}

  static blob copy_of(std::string_view bytes) { return take(std::string{bytes}); }
  static blob take(std::string&& bytes);
  static blob take(std::vector<char>&& bytes);

  std::string_view view() const { return bytes_; }
  const char* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  /// The bytes from `offset` on, at most `count`; both are cut to what is there.
  blob slice(size_t offset, size_t count = std::string_view::npos) const;

  const std::shared_ptr<const void>& owner() const { return owner_; }

private:
  std::shared_ptr<const void> owner_;
  std::string_view bytes_;
};

/// Joins pieces in one buffer; a single piece is returned as it is.
blob join(const std::vector<blob>& pieces);

} // namespace corral
