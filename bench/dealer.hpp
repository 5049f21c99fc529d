#pragma once

#include <zmq.hpp>

#include <string>
#include <string_view>

namespace corral::bench {

/// A client without any comfort: frames out, frames in, no JSON. What both the echo and the daemon
/// are measured with.
class dealer {
public:
  struct answer {
    zmq::message_t header;
    zmq::message_t payload; ///< Empty if there is no such frame.

    std::string_view text() const { return header.to_string_view(); }
    bool is_final() const { return text().find("\"ok\":") != std::string_view::npos; }
    bool is_ok() const { return text().find("\"ok\":true") != std::string_view::npos; }
    /// The value of a field that is a string; empty if there is none.
    std::string string(std::string_view name) const;
  };

  dealer(zmq::context_t& context, const std::string& endpoint);

  void send(std::string_view header, std::string_view payload = {});

  /// Throws std::runtime_error if nothing comes within a minute.
  answer receive();

  /// Throws std::runtime_error if the answer is a refusal.
  answer ask(std::string_view header, std::string_view payload = {});

  zmq::socket_t& socket() { return socket_; }

private:
  zmq::socket_t socket_;
};

/// The header of an exec of a command that is so many bytes long.
std::string exec_header(std::string_view sandbox, size_t command_bytes);

} // namespace corral::bench
