// A namespace backend in directories of its own, and a driver for tests/support/test_guest.cpp.

#pragma once

#include "os/temp_dir.hpp"
#include "providers/namespace/backend.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace corral::test {

struct outcome {
  std::string output;
  int status = -1;
};

/// The daemon's end of a test guest's link.
class guest_driver {
public:
  /// Accepts the guest and checks its secret.
  explicit guest_driver(const endpoint& at);

  /// Runs one line of bash; ends the test if the guest doesn't answer within 30 s.
  outcome run(const std::string& command);

  const unique_fd& link() const { return link_; }

private:
  std::string read_until(char end);

  unique_fd link_;
  std::string buffer_;
};

class namespace_pool {
public:
  namespace_pool();

  namespace_settings settings() const; ///< Small limits; the test guest.
  std::unique_ptr<namespace_backend> open() const { return open(settings()); }
  std::unique_ptr<namespace_backend> open(namespace_settings settings) const;

  std::filesystem::path path() const { return directory_.path(); }

private:
  temp_dir directory_;
};

/// A user of this run alone: what is looked for by id is then not another run's.
const std::string& this_user();

/// A named owner's sandbox.
sandbox_spec spec_of(const std::string& thread, const std::string& user = this_user());

} // namespace corral::test
