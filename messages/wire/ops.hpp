// The table of ops: what each request is called, takes and needs. It drives the checks of every
// request, the codec's golden files, the command line and the client libraries.

#pragma once

#include "messages/wire/message.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace corral {

enum class op : uint8_t {
  hello,
  ping,
  acquire,
  get,
  release,
  destroy,
  list,
  exec,
  input,
  cancel,
  reset_session,
  result,
  read_file,
  download_file,
  write_file,
  update_file,
  str_replace,
  list_dir,
  glob,
  grep,
  stats,
  reload,
  data,
  ack,
};

enum class field_type : uint8_t {
  text,    ///< A string; `min` and `max` bound its bytes.
  name,    ///< A thread, user or pool: [A-Za-z0-9_-]{1,64}.
  integer, ///< `min` and `max` bound its value.
  boolean,
  text_map, ///< An object of strings whose names are environment variables.
  text_list,
};

struct field_spec {
  std::string_view name;
  field_type type;
  bool required = false;
  int64_t min = 0;
  int64_t max = 0;
  bool nullable = false;
};

struct part_spec {
  std::string_view name;
  bool required = false;
};

/// How a request names what it is about.
enum class target_kind : uint8_t {
  none,
  sandbox,  ///< By id or unique prefix only.
  any,      ///< A sandbox, or a thread with optional user and pool, which is acquired on demand.
  optional, ///< The same, or none; not acquired on demand.
};

struct op_spec {
  op id;
  std::string_view name;
  target_kind target;
  bool in_guest;  ///< Served by the guest, so it waits for a sandbox.
  bool file;      ///< A file operation: runs beside an exec.
  bool raw;       ///< Takes a payload that no `parts` describe.
  bool has_reply; ///< data and ack have none.
  std::span<const field_spec> fields;
  std::span<const part_spec> parts;
};

std::span<const op_spec> all_ops();
const op_spec& spec_of(op id);
const op_spec* find_op(std::string_view name);

struct target {
  std::string sandbox; ///< Empty if a thread is named.
  std::string thread;
  std::string user = "default";
  std::string pool; ///< Empty: the default pool, or the one that holds the thread.

  bool empty() const { return sandbox.empty() && thread.empty(); }
  friend bool operator==(const target&, const target&) = default;
};

/// A request that passed its checks.
struct request {
  const op_spec* spec = nullptr;
  std::string id;
  target to;
  message body; ///< All fields but op, id and the target's.
};

/// Checks a client's message against the table. `invalid_request` names the op, the field, what was
/// expected and what to change.
result<request> check_request(message x);

constexpr size_t max_request_id = 128;
constexpr int64_t max_timeout_ms = 24 * 3600 * 1000;
constexpr int64_t max_heartbeat_ms = 3600 * 1000;
constexpr int64_t default_exec_timeout_ms = 600'000;
constexpr int64_t default_file_timeout_ms = 60'000;

} // namespace corral
