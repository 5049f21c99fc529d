// Content of any size, in both directions.

#pragma once

#include "apps/cli/content.hpp"
#include "apps/cli/daemon_client.hpp"

#include <functional>
#include <string_view>

namespace corral::cli {

/// The most that the daemon takes or gives as one file, in bytes.
uint64_t transfer_limit(const daemon_client& client);

using byte_sink = std::function<cli_result<void>(std::string_view)>;

/// Sends a read_file or download_file and hands its content on in order, whether it comes whole or
/// in chunks; the reply's fields. An error on the way means that what was handed on is not all.
cli_result<fields> download(daemon_client& client, message request, const byte_sink& sink);

/// Sends a write_file or update_file with its content: whole up to 16 MiB, beyond that in pieces
/// within the credit that the daemon grants; the reply's fields. `on_sent` hears of each piece.
cli_result<fields> upload(daemon_client& client, message request, const content& from,
                          const std::function<void(uint64_t bytes)>& on_sent = {});

} // namespace corral::cli
