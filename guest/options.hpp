#pragma once

#include "os/unique_fd.hpp"

#include <tl/expected.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace corral::guest {

struct guest_options {
  std::string socket;                        ///< Dialled; empty if `connected` is given.
  std::string id;                            ///< The sandbox's.
  std::string control = "/run/corral-shell"; ///< The shell's private directory, on a tmpfs.
  std::string workspace = "/mnt/user-data/workspace";
  std::vector<std::string> shells; ///< Tried in this order.
  std::chrono::seconds orphan_timeout{900};
  unique_fd secret;    ///< Read and closed at start.
  unique_fd uploads;   ///< O_PATH of the uploads directory; none if API writes can't go there.
  unique_fd connected; ///< Speaks over this socket instead of dialling.
};

/// Reads the command line; else says what is wrong with it. The descriptors that it names become
/// the result's.
tl::expected<guest_options, std::string> parse_options(int argc, char** argv);

} // namespace corral::guest
