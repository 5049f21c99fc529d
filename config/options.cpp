// The table: each option once, with its limits and what an operator reads about it. Defaults are
// the initial values in config.hpp. After a change run `ninja config_yaml`.

#include "config/option.hpp"

#include <cctype>

namespace corral {

namespace {

using namespace kinds;
using namespace std::chrono_literals;

/// How to reach a value, and in which scope it is.
template <class T>
struct field {
  std::function<T&(config_target)> of;
  bool in_pool;
};

template <class T>
field<T> at(T config::*x) {
  return {[x](config_target t) -> T& { return t.daemon.*x; }, false};
}

template <class T>
field<T> at(T pool_config::*x) {
  return {[x](config_target t) -> T& { return t.pool.*x; }, true};
}

template <class Group, class T>
field<T> at(Group pool_config::*group, T Group::*x) {
  return {[=](config_target t) -> T& { return t.pool.*group.*x; }, true};
}

template <class T>
option row(std::string name, field<T> place, value_kind<T> kind, std::string doc,
           std::string computed = {}) {
  option x{.name = std::move(name),
           .in_pool = place.in_pool,
           .expected = kind.expected,
           .doc = std::move(doc),
           .computed = std::move(computed)};
  x.get = [=](config_target t) { return yaml_node::scalar(kind.format(place.of(t))); };
  x.set = [=](config_target t, const yaml_node& node, const value_context& context) {
    set_scalar(place.of(t), kind, node, context);
  };
  return x;
}

option mounts_row(std::string doc) {
  option x{.name = "mounts",
           .in_pool = true,
           .expected = "a list of {source: PATH, target: PATH, read_only: true or false}",
           .scalar = false,
           .doc = std::move(doc)};
  x.get = [](config_target t) { return mounts_node(t.pool.mounts); };
  x.set = [](config_target t, const yaml_node& node, const value_context& context) {
    set_mounts(t.pool.mounts, node, context);
  };
  return x;
}

option environment_row(std::string doc) {
  option x{.name = "environment",
           .in_pool = true,
           .expected = "a mapping of names to values",
           .scalar = false,
           .doc = std::move(doc)};
  x.get = [](config_target t) { return environment_node(t.pool.environment); };
  x.set = [](config_target t, const yaml_node& node, const value_context& context) {
    set_environment(t.pool.environment, node, context);
  };
  return x;
}

option endpoints_row(std::string name, std::vector<std::string> config::*list, std::string doc) {
  option x{.name = std::move(name),
           .expected = "a list of tcp://HOST:PORT",
           .scalar = false,
           .doc = std::move(doc)};
  x.get = [list](config_target t) { return endpoints_node(t.daemon.*list); };
  x.set = [list](config_target t, const yaml_node& node, const value_context& context) {
    set_endpoints(t.daemon.*list, node, context);
  };
  return x;
}

option keys_row(std::string doc) {
  option x{.name = "keys",
           .expected = "a list of {name: NAME, key: KEY, users: \"*\" or a list, ops: \"*\" or a "
                       "list}",
           .scalar = false,
           .doc = std::move(doc)};
  x.get = [](config_target t) { return keys_node(t.daemon.keys); };
  x.set = [](config_target t, const yaml_node& node, const value_context& context) {
    set_keys(t.daemon.keys, node, context);
  };
  return x;
}

option formerly(std::string name, option x) {
  x.formerly = std::move(name);
  return x;
}

/// One that can change while the daemon runs.
option live(option x) {
  x.live = true;
  return x;
}

std::vector<option> daemon_rows() {
  using C = config;
  return {
      row("data_dir", at(&C::data_dir), absolute_path(),
          "Users' files; bound into their sandboxes. As a user: ~/.local/share/corral.",
          "/var/lib/corral"),
      row("state_dir", at(&C::state_dir), absolute_path(),
          "Records and secrets of running sandboxes, mode 0700. As a user: ~/.local/state/corral.",
          "/var/lib/corral-state"),
      row("run_dir", at(&C::run_dir), absolute_path(),
          "Sockets and the guest's programs; at most 72 bytes long. As a user: "
          "$XDG_RUNTIME_DIR/corral, else /tmp/corral-UID.",
          "/run/corral"),
      row("socket", at(&C::socket), absolute_path(),
          "Where clients connect; at most 107 bytes long. By default corral.sock in run_dir.",
          "/run/corral/corral.sock"),
      row("events_socket", at(&C::events_socket), absolute_path(),
          "Where subscribers to events connect, with the rights of socket; at most 107 bytes long. "
          "By default events.sock in run_dir.",
          "/run/corral/events.sock"),
      endpoints_row("listen", &C::listen,
                    "Where clients connect over TCP, such as [tcp://*:5700]; takes "
                    "curve_secret_file and keys, or insecure."),
      endpoints_row("events_listen", &C::events_listen,
                    "Where subscribers to events do: holders of keys for all users, since events "
                    "tell of everyone."),
      row("curve_secret_file", at(&C::curve_secret_file), absolute_path("none"),
          "The daemon's own key pair, as corral keygen makes it; for the daemon's user alone (mode "
          "0600). Clients are given its public half."),
      keys_row("Who may connect over TCP, and for which users and with which ops, such as [{name: "
               "web, key: KEY, users: [alice, bob], ops: \"*\"}]; corral keygen prints the line. A "
               "$ in a key is written $$."),
      row("insecure", at(&C::insecure), true_or_false(),
          "Listen on TCP without encryption and keys: whoever reaches a port may do everything."),
      row("ipc_group", at(&C::ipc_group), group_name(),
          "Who may use the socket, when run as root. As a user only that user may."),
      row("data_group", at(&C::data_group), group_name(),
          "Who may read users' files beside their sandboxes, when run as root."),
      row("uid_range", at(&C::uid_range), range_of_uids(),
          "Each owner of sandboxes gets a user id of its own from here, when run as root. "
          "Nothing else on the machine may use them."),
      live(row("log_level", at(&C::log_level),
               choice<log_level>({{"trace", log_level::trace},
                                  {"debug", log_level::debug},
                                  {"info", log_level::info},
                                  {"warn", log_level::warn},
                                  {"error", log_level::error}}),
               "The least that is logged. debug adds every acquire and release.")),
      row("log_format", at(&C::log_format),
          choice<log_format>({{"text", log_format::text}, {"json", log_format::json}}),
          "For people, or one JSON object a line."),
      live(row("drain_timeout", at(&C::drain_timeout), duration(0ms, 1h),
               "How long a shutdown waits for running execs.")),
      live(
          row("on_shutdown", at(&C::on_shutdown),
              choice<shutdown_policy>(
                  {{"destroy", shutdown_policy::destroy}, {"keep", shutdown_policy::keep}}),
              "What becomes of the sandboxes at the end of a shutdown: destroyed, or kept with all "
              "that "
              "runs in them for the next start, which must come within guest.orphan_timeout.")),
      row("queue", at(&C::queue), whole_number(1, 1'000'000),
          "Requests open in the daemon; more get queue_full."),
      row("transfer_max_bytes", at(&C::transfer_max_bytes), size(64 * kib, 1 * tib),
          "The largest file that can be read or written by one request."),
      row("client_queue_bytes", at(&C::client_queue_bytes), size(64 * kib, 16 * gib),
          "Replies to one client that are under way at a time. A client that takes none for 10 s "
          "while more wait (1 s if 16 times as much does), or for which 64 times as much waits, is "
          "dropped."),
      row("client_request_bytes", at(&C::client_request_bytes), size(16 * mib, 16 * gib),
          "Content of one client's open requests; more get queue_full."),
      row("rate_limit", at(&C::rate_limit), number(1, 1'000'000, "off"),
          "Requests of one client in a second, and as many at once after a pause; more get "
          "queue_full, with the time to wait. Pings, cancels and releases aren't counted."),
  };
}

std::vector<option> pool_rows() {
  using P = pool_config;
  return {
      row("use", at(&P::use), choice<backend_kind>({{"namespace", backend_kind::namespaces}}),
          "What its sandboxes run on."),
      live(row(
          "replicas", at(&P::replicas), whole_number(1, 100'000),
          "Sandboxes kept, in use or warm. At the limit the least recently used warm one goes.")),
      live(formerly("burst_limit",
                    row("max_sandboxes", at(&P::max_sandboxes), whole_number(1, 1'000'000),
                        "The hard limit that a burst ends at, at least replicas. By default "
                        "4 x replicas.",
                        "256"))),
      live(row(
          "max_per_user", at(&P::max_per_user), whole_number(1, 1'000'000),
          "Sandboxes of one user; more take the place of the user's own warm ones. Holds for named "
          "users: who names none is user default and bound by the pool's limits alone. By default "
          "as many as replicas.",
          "64")),
      live(
          formerly("overflow_policy",
                   row("overflow", at(&P::overflow),
                       choice<overflow_policy>({{"burst", overflow_policy::burst},
                                                {"wait", overflow_policy::wait},
                                                {"reject", overflow_policy::reject}}),
                       "When replicas are in use and none is warm: make more, wait in a queue that "
                       "gives each client its turn, or refuse."))),
      live(row("wait_timeout", at(&P::wait_timeout), duration(0ms, 24h),
               "With overflow: wait, how long an acquire waits that gives no wait_ms.")),
      live(row("idle_timeout", at(&P::idle_timeout), duration(100ms, 8760h, "off"),
               "How long after its last operation a sandbox without leases is destroyed.")),
      live(row("lease_idle_timeout", at(&P::lease_idle_timeout), duration(100ms, 8760h, "off"),
               "The same for a sandbox that clients hold leases of.")),
      row("reap_interval", at(&P::reap_interval), duration(50ms, 1h),
          "How often idle sandboxes are looked for."),
      row("backend_parallel", at(&P::backend_parallel), whole_number(1, 256),
          "Sandboxes made and destroyed at the same time."),
      row("sandbox_queue", at(&P::sandbox_queue), whole_number(1, 100'000),
          "Requests waiting for one sandbox; more get queue_full."),
      row("create_timeout", at(&P::create_timeout), duration(1s, 1h),
          "How long making a sandbox may take."),
      formerly("bash_command_timeout",
               row("exec_timeout", at(&P::exec_timeout), duration(1ms, 24h),
                   "How long a command may run whose request gives no timeout_ms.")),
      row("bash_output_max_chars", at(&P::bash_output_max_chars),
          whole_number(100, 100'000'000, "off"),
          "Characters of output that an agent is shown; of more the middle is cut."),
      row("network", at(&P::network),
          choice<network_access>({{"none", network_access::none}, {"host", network_access::host}}),
          "What sandboxes reach: nothing, or all that this machine reaches, its local services "
          "included."),
      row("rootfs", at(&P::rootfs), absolute_path("this machine's /usr"),
          "The read-only system that sandboxes see."),
      row("skills", at(&P::skills), absolute_path("none"),
          "A directory seen read-only as /mnt/skills."),
      mounts_row("More of this machine's files, such as [{source: /srv/data, target: /data, "
                 "read_only: true}]. No target may be, or be in, a directory that a sandbox has "
                 "anyway; no source may share files with data_dir, state_dir or run_dir."),
      environment_row(
          "Variables of every shell, such as {LANG: C.UTF-8, TOKEN: $TOKEN}. A value of "
          "$NAME is taken from the daemon's environment."),
      row("limits.memory", at(&P::limits, &sandbox_limits::memory),
          size(16 * mib, 64 * tib, "no limit"),
          "Memory of a sandbox, its /tmp, home and /dev/shm included."),
      row("limits.pids", at(&P::limits, &sandbox_limits::pids),
          whole_number(8, 4'194'304, "no limit"), "Processes and threads."),
      row("limits.cpus", at(&P::limits, &sandbox_limits::cpus), number(0.01, 4096, "no limit"),
          "Processor time: 1.5 is one and a half processors."),
      row("limits.file_size", at(&P::limits, &sandbox_limits::file_size),
          size(1 * mib, 64 * tib, "no limit"), "The largest file that a command can write."),
      row("limits.open_files", at(&P::limits, &sandbox_limits::open_files),
          whole_number(64, 1'048'576, "the daemon's own limit"), "Descriptors of one process."),
      row("limits.tmp_size", at(&P::limits, &sandbox_limits::tmp_size), size(64 * kib, 64 * tib),
          "Size of /tmp."),
      row("limits.home_size", at(&P::limits, &sandbox_limits::home_size), size(64 * kib, 64 * tib),
          "Size of the home directory."),
      row("limits.shm_size", at(&P::limits, &sandbox_limits::shm_size), size(64 * kib, 64 * tib),
          "Size of /dev/shm."),
      row("limits.core", at(&P::limits, &sandbox_limits::core), size(4 * kib, 64 * tib, "none"),
          "The largest core dump."),
      row("guest.orphan_timeout", at(&P::guest, &guest_limits::orphan_timeout), duration(1s, 168h),
          "How long a sandbox without daemon and running command lives on."),
      row("guest.result_ttl", at(&P::guest, &guest_limits::result_ttl), duration(1s, 24h),
          "How long the result of an exec with a key is kept."),
      row("guest.keys", at(&P::guest, &guest_limits::keys), whole_number(1, 10'000'000),
          "Keys of execs that one sandbox remembers."),
      row("guest.result_memory", at(&P::guest, &guest_limits::result_memory),
          size(64 * kib, 16 * gib), "Memory for kept results, less than limits.memory."),
  };
}

} // namespace

const std::vector<option>& option_table() {
  static const auto table = [] {
    auto rows = daemon_rows();
    for (auto& x : pool_rows())
      rows.push_back(std::move(x));
    return rows;
  }();
  return table;
}

std::string option::environment_name() const {
  std::string result = in_pool ? "CORRAL_POOL_" : "CORRAL_";
  for (char c : name)
    result += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

} // namespace corral
