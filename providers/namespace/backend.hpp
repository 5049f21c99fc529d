#pragma once

#include "os/child_process.hpp"
#include "providers/contract.hpp"
#include "providers/namespace/cgroup.hpp"
#include "providers/namespace/settings.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace corral {

namespace jail {
class sandbox_maker;
struct trouble;
} // namespace jail

/// Sandboxes made of Linux namespaces by bubblewrap. docs/security.md says what they hold.
class namespace_backend : public sandbox_backend {
public:
  /// Checks the settings and prepares what all sandboxes share. The error is for the operator: it
  /// names the setting and what to change.
  static result<std::unique_ptr<namespace_backend>> open(namespace_settings settings);

  /// Ends the sandboxes that run, as `destroy` does, unless they are left; owners' files stay.
  ~namespace_backend() override;

  backend_traits traits() const override;
  result<void> probe() override;
  std::vector<std::string> warnings() const override;
  result<endpoint> create(const sandbox_spec& spec) override;
  result<endpoint> discover(const std::string& id) override;
  result<void> destroy(const std::string& id, bool purge) override;
  result<void> end_left(const std::string& state_dir, const std::string& id) override;
  std::vector<std::string> list() override;
  void leave_running() override;
  bool healthy(const std::string& id) override;

  std::optional<memory_counters> memory(const std::string& id) const override;

private:
  explicit namespace_backend(std::unique_ptr<jail::sandbox_maker> maker);
  error report(jail::trouble trouble) const;
  bool reserve(const std::string& id);

  std::unique_ptr<jail::sandbox_maker> maker_;
  mutable std::mutex mutex_;
  bool leaving_ = false;
  /// Each sandbox's bwrap, so that it is reaped; nothing while it is being made, and where an
  /// earlier run has made it.
  std::map<std::string, std::optional<child_process>> running_;
};

} // namespace corral
