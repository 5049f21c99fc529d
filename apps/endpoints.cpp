#include "apps/endpoints.hpp"

#include "bridge/key_pair.hpp"
#include "bridge/loop_thread.hpp"
#include "os/groups.hpp"

#include <spdlog/spdlog.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace corral {

namespace {

namespace fs = std::filesystem;

using failed = tl::unexpected<std::string>;

tl::expected<void, std::string> make_reachable(const fs::path& path, const config& x) {
  if (::chmod(path.c_str(), ::geteuid() == 0 ? 0660 : 0600) != 0)
    return failed{last_os_error("chmod", path.native()).value().what};
  auto group = ipc_group_of(x);
  if (group != static_cast<gid_t>(-1) && ::chown(path.c_str(), static_cast<uid_t>(-1), group) != 0)
    return failed{last_os_error("chown", path.native()).value().what};
  return {};
}

/// What `bind` may throw, with the endpoint's name.
template <class Bind>
tl::expected<void, std::string> bound(const std::string& endpoint, Bind bind) {
  try {
    bind(endpoint);
    return {};
  } catch (const zmq::error_t& e) {
    return failed{"cannot listen on " + endpoint + ": " + e.what()};
  }
}

/// The daemon's secret key; empty where it needs none.
tl::expected<std::string, std::string> secret_key_of(const config& x) {
  if (x.insecure || (x.listen.empty() && x.events_listen.empty()))
    return std::string{};
  auto keys = read_key_file(x.curve_secret_file);
  if (!keys)
    return failed{"curve_secret_file: " + keys.error()};
  return keys->secret_key;
}

/// Requests are for every holder of a key; events, which tell of everyone, for those who may name
/// everyone.
zap_handler::judge judge_of(principals who) {
  using clock = std::chrono::steady_clock;
  return [who = std::move(who), told = clock::time_point{}](
             std::string_view domain, std::string_view key) mutable -> std::optional<std::string> {
    auto x = who.holder_of(key);
    auto may = x != nullptr && (domain != event_publisher::zap_domain || !x->users);
    constexpr auto pause = std::chrono::seconds{1}; // Whoever tries may try often.
    if (!may && clock::now() - std::exchange(told, clock::now()) >= pause)
      spdlog::warn("a connection to {} was refused: the key {} is {}", domain, key,
                   x ? "not for all users" : "not in keys");
    return may ? std::optional{x->name} : std::nullopt;
  };
}

std::optional<std::set<std::string>> as_set(const std::optional<std::vector<std::string>>& names) {
  if (!names)
    return std::nullopt;
  return std::set<std::string>{names->begin(), names->end()};
}

} // namespace

gid_t ipc_group_of(const config& x) {
  auto root = ::geteuid() == 0;
  return root ? group_id(x.ipc_group).value_or(static_cast<gid_t>(-1)) : static_cast<gid_t>(-1);
}

tl::expected<file_lock, std::string> lock_for(const std::string& path, const std::string& what) {
  auto held = file_lock::try_acquire(path);
  if (!held && held.error().number == EWOULDBLOCK)
    return failed{"another corrald (" + file_lock::holder_of(path) + ") already uses " + what
                  + "; stop it, or give this one its own"};
  if (!held)
    return failed{held.error().what};
  (void)held->describe("pid " + std::to_string(::getpid()));
  return std::move(*held);
}

tl::expected<std::vector<file_lock>, std::string> lock_sockets(const config& x) {
  std::vector<file_lock> result;
  for (auto [name, path] :
       {std::pair{"socket ", &x.socket}, {"events_socket ", &x.events_socket}}) {
    auto held = lock_for(*path + ".lock", name + *path);
    if (!held)
      return failed{held.error()};
    result.push_back(std::move(*held));
  }
  return result;
}

principals principals_of(const config& x) {
  std::vector<principal> result;
  for (auto& k : x.keys)
    result.push_back({k.name, k.key, as_set(k.users), as_set(k.ops)});
  return principals{std::move(result)};
}

tl::expected<void, std::string> open_endpoints(const config& x, loop_thread& edge) {
  auto& events = edge.events();
  auto opened = bound("ipc://" + x.events_socket, [&](auto& to) { events.bind(to); });
  for (auto& path : {x.socket, x.events_socket})
    if (opened)
      opened = make_reachable(path, x);
  auto secret = secret_key_of(x);
  if (opened && !secret)
    return failed{secret.error()};
  if (opened && !secret->empty())
    edge.ask_for_keys(judge_of(principals_of(x)));
  for (auto& endpoint : x.listen)
    if (opened)
      opened = bound(endpoint, [&](auto& to) { edge.loop().listen(to, *secret); });
  for (auto& endpoint : x.events_listen)
    if (opened)
      opened = bound(endpoint, [&](auto& to) { events.listen(to, *secret); });
  if (opened && x.insecure && !(x.listen.empty() && x.events_listen.empty()))
    spdlog::warn("insecure: whoever reaches the TCP endpoints may do everything");
  return opened;
}

void remove_sockets(const config& x) {
  std::error_code ignored;
  for (auto& path : {x.socket, x.events_socket})
    fs::remove(path, ignored);
}

} // namespace corral
