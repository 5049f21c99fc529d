#pragma once

#include "guest/exec_service.hpp"
#include "guest/operation.hpp"
#include "guest/operation_call.hpp"
#include "guest/outbox.hpp"

#include <map>
#include <memory>

namespace corral::guest {

/// Takes the daemon's frames apart: assembles requests, hands them to the service that serves them,
/// and passes credit both ways.
class dispatcher {
public:
  dispatcher(event_loop& loop, exec_service& execs, outbox& out)
      : loop_{loop}, execs_{execs}, out_{out} {}

  /// Serves the file operations, which are refused without. `files` outlives this object's use.
  void serve_files(operation_handler& files) { files_ = &files; }

  /// A frame after the hello. An error means that the daemon doesn't keep to the protocol: the
  /// connection must go.
  result<void> take(frame x);

  /// The connection has gone: nobody waits for what is under way.
  void disconnected();

  bool idle() const { return calls_.empty(); }

private:
  result<void> begin(int64_t re, frame x);
  result<void> begin_file_operation(const op_spec& spec, int64_t re, frame x);
  result<void> assemble(int64_t re, frame x);
  void serve(int64_t re, const message& x);
  void cancel(int64_t re);

  event_loop& loop_;
  exec_service& execs_;
  outbox& out_;
  operation_handler* files_ = nullptr;
  std::map<int64_t, frame_assembler> requests_; ///< Not yet complete.
  std::map<int64_t, std::shared_ptr<operation_call>> calls_;
};

} // namespace corral::guest
