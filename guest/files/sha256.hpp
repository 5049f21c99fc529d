#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace corral::guest {

/// SHA-256 of bytes that come in pieces.
class sha256 {
public:
  sha256();
  ~sha256();

  void update(std::string_view bytes);

  /// 64 lower-case hex digits, once.
  std::string hex();

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace corral::guest
