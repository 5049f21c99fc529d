#pragma once

#include "apps/cli/daemon_client.hpp"
#include "apps/cli/followed_stream.hpp"
#include "apps/cli/input_feed.hpp"
#include "apps/cli/interrupts.hpp"
#include "apps/cli/terminal.hpp"

#include <optional>

namespace corral::cli {

/// One exec from its request to its reply: passes output and input on as they come and turns
/// interrupts into a cancel.
class exec_run {
public:
  struct settings {
    bool feed_stdin = false;
    bool show_output = true; ///< Else the caller takes it from the reply.
  };

  exec_run(daemon_client& client, interrupts& signals, settings x);

  /// The reply. `interrupted` after a second interrupt, while the command may still run. Any other
  /// error, such as `input_output` for output that could not be written, means that the command was
  /// refused, cancelled or lost.
  cli_result<message> run(message request);

private:
  using clock = std::chrono::steady_clock;

  cli_result<std::optional<message>> step();
  std::optional<cli_result<message>> take(const message& x);
  void take_event(const message& x);
  void take_input_reply(const message& x);
  cli_result<void> heed_interrupts();
  cli_result<void> feed();
  void cancel();
  void give_up(cli_error why);
  void show(stream to, std::string_view bytes);
  cli_result<message> finish(message reply);
  followed_stream& follow(stream to) { return to == stream::out ? out_ : err_; }

  daemon_client& client_;
  interrupts& signals_;
  settings settings_;
  std::string id_;
  std::string input_id_; ///< Of the input request under way.
  std::optional<input_feed> feed_;
  followed_stream out_;
  followed_stream err_;
  bool started_ = false;
  bool cancelled_ = false;
  std::optional<cli_error> given_up_; ///< Why the command was cancelled on our own account.
};

} // namespace corral::cli
