#pragma once

#include "guest/files/file_settings.hpp"
#include "guest/files/path_resolver.hpp"
#include "guest/files/worker_pool.hpp"
#include "guest/operation.hpp"

namespace corral::guest {

/// Serves read_file, download_file, write_file, update_file, str_replace, list_dir, glob and grep
/// in this process's view of the file system and with its permissions. An error's details are the
/// `path` as requested and the `operation`; a request out of time is `busy`.
class file_service : public operation_handler {
public:
  explicit file_service(file_settings settings);

  /// Waits for what is under way: cancel that first.
  ~file_service() override = default;

  file_service(const file_service&) = delete;
  file_service& operator=(const file_service&) = delete;

  void submit(const op_spec& spec, fields header, std::shared_ptr<payload_reader> in,
              std::shared_ptr<reply_writer> out) override;

  /// Threads at work or waiting for it.
  size_t threads() const { return pool_.threads(); }

private:
  const file_settings settings_;
  const path_resolver paths_;
  worker_pool pool_;
};

} // namespace corral::guest
