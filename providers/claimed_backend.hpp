#pragma once

#include "providers/contract.hpp"
#include "providers/host_claims.hpp"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace corral {

/// A backend used as one of several daemons on a machine: whatever looks for, makes or removes a
/// sandbox holds its claim meanwhile. Blocking; safe to use from several threads.
class claimed_backend {
public:
  claimed_backend(std::shared_ptr<sandbox_backend> backend,
                  std::shared_ptr<const host_claims> claims)
      : backend_{std::move(backend)}, claims_{std::move(claims)} {}

  /// Finds a sandbox that an earlier run left, else makes it; true if found. `moved` if another
  /// living daemon has it; what a dead one left elsewhere is ended first.
  result<std::pair<endpoint, bool>> obtain(const sandbox_spec& spec);

  /// As the backend's.
  result<void> destroy(const std::string& id, bool purge);

  /// All that an earlier run of this daemon left and that can be used; the rest is removed, and
  /// `report` told where that fails.
  std::vector<endpoint> take_over(const std::function<void(const std::string&)>& report);

private:
  result<endpoint> adopt(const std::string& id);

  std::shared_ptr<sandbox_backend> backend_;
  std::shared_ptr<const host_claims> claims_;
};

} // namespace corral
