#pragma once

#include "guest/files/file_settings.hpp"
#include "guest/files/path_resolver.hpp"
#include "guest/operation.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace corral::guest {

/// One request under way: what every operation needs.
struct file_call {
  const op_spec& spec;
  const fields header;
  std::shared_ptr<payload_reader> in;
  std::shared_ptr<reply_writer> out;
  const file_settings& settings;
  const path_resolver& paths;
  std::string path; ///< Absolute and normalised, as agents name it.
  std::chrono::steady_clock::time_point deadline;

  /// `busy` once the request is cancelled or out of time. Asked in every loop over files or bytes.
  result<void> check() const;

  bool flag(std::string_view name) const { return header.flag(name).value_or(false); }
  int64_t integer(std::string_view name, int64_t otherwise) const {
    return header.integer(name).value_or(otherwise);
  }

  tl::unexpected<error> fail(int number) const;

  /// What was wrong, followed by the path.
  tl::unexpected<error> fail(errc code, std::string text) const;

  std::chrono::milliseconds timeout() const {
    return std::chrono::milliseconds{integer("timeout_ms", default_file_timeout_ms)};
  }
};

// The operations. Each answers `out` once on success; an error is answered by the caller.
result<void> read_file(file_call& call);
result<void> download_file(file_call& call);
result<void> write_file(file_call& call);  ///< With `append`; leaves new parent directories behind.
result<void> update_file(file_call& call); ///< The same without.
result<void> str_replace(file_call& call);
result<void> list_dir(file_call& call);
result<void> glob(file_call& call);
result<void> grep(file_call& call);

} // namespace corral::guest
