#pragma once

#include "messages/wire/ops.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace corral {

/// Who sends requests, and what they may ask for.
struct principal {
  std::string name;
  std::string key; ///< The public key, in Z85; empty for the socket's users.
  /// Those it may name; nothing stands for all.
  std::optional<std::set<std::string>> users;
  /// Names of ops; nothing stands for all. hello, ping, data and ack are everyone's.
  std::optional<std::set<std::string>> ops;

  bool may_name(std::string_view user) const;
  bool may_use(const op_spec& x) const;
  bool is_unlimited() const { return !users && !ops; }
};

/// The principals of a daemon: whoever may open the socket, and the holders of keys.
class principals {
public:
  /// The principal of the socket, whose file permissions say who that is.
  static constexpr std::string_view ipc = "ipc";

  explicit principals(std::vector<principal> keys = {});

  bool has_keys() const { return by_name_.size() > 1; }

  /// Null if nobody is called so.
  const principal* find(std::string_view name) const;

  /// The holder of a public key, in Z85; null for an unknown one.
  const principal* holder_of(std::string_view key) const;

  /// `forbidden` if the op, or a user that the request names, is not the principal's. Whose a
  /// sandbox is that it names by id, is for the caller to ask.
  static result<void> check(const principal& who, const request& r);

  /// The id of a sandbox that a request names, be it as its target or in its fields; else empty.
  static std::string named_sandbox(const request& r);

private:
  std::map<std::string, principal, std::less<>> by_name_;
};

} // namespace corral
