#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace corral {

/// Who holds which sandbox. A client may hold several leases on one sandbox; each is dropped by
/// itself.
class lease_table {
public:
  struct lease {
    std::string id;
    std::string client;
    std::string sandbox;
  };

  void add(lease x);

  /// Drops a lease if it is the client's and on that sandbox. With an empty lease id the client's
  /// only lease on it. Nothing if there is no such lease, or no single one.
  std::optional<lease> release(const std::string& client, const std::string& sandbox,
                               const std::string& id);

  /// Drops all leases of a client.
  std::vector<lease> release_client(const std::string& client);

  /// Drops all leases on a sandbox that has ended.
  void erase_sandbox(const std::string& sandbox);

  size_t count(const std::string& sandbox) const;
  bool held_by_others(const std::string& sandbox, const std::string& client) const;
  size_t size() const { return leases_.size(); }
  size_t sandboxes() const { return by_sandbox_.size(); } ///< That somebody holds.

private:
  template <class Predicate>
  std::vector<lease> take_if(Predicate pred);

  std::map<std::string, lease> leases_;      // By lease id.
  std::map<std::string, size_t> by_sandbox_; // How many.
};

} // namespace corral
