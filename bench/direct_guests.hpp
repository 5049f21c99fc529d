#pragma once

#include "messages/wire/frame.hpp"
#include "os/temp_dir.hpp"
#include "providers/contract.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace corral::bench {

/// Guests in sandboxes of the namespace provider without any daemon: their sockets are driven from
/// here. What the same guests can do at most.
class direct_guests {
public:
  /// Makes them. Throws std::runtime_error.
  direct_guests(const std::filesystem::path& build, size_t count);
  ~direct_guests();

  /// Runs one builtin in the first of them.
  void exec();

  /// Keeps one exec of a builtin under way in each for so long; execs a second.
  double throughput(std::chrono::milliseconds duration);

private:
  struct guest {
    std::string id;
    unique_fd link;
    frame_decoder decoder;
    int64_t re = 0;
  };

  void connect(guest& x, const endpoint& where);
  void start_exec(guest& x);
  bool receive(guest& x); ///< Takes what has come; true if the exec has ended.

  temp_dir dir_;
  std::unique_ptr<sandbox_backend> backend_;
  std::vector<guest> guests_;
};

} // namespace corral::bench
