#include "providers/claimed_backend.hpp"

namespace corral {

namespace {

constexpr std::chrono::seconds patience{20}; // Another daemon may be making or ending it.

} // namespace

result<std::pair<endpoint, bool>> claimed_backend::obtain(const sandbox_spec& spec) {
  auto claim = claims_->lock(spec.id, patience);
  if (!claim)
    return tl::unexpected{claim.error()};
  if (auto& other = claim->other()) {
    if (other->alive)
      return tl::unexpected{moved_to(other->who)};
    if (auto ended = backend_->end_left(other->who.state_dir, spec.id); !ended)
      return tl::unexpected{ended.error()};
  }
  auto found = backend_->discover(spec.id);
  if (found && found->stale) {
    if (auto gone = backend_->destroy(spec.id, false); !gone)
      return tl::unexpected{gone.error()};
    found = failure(errc::sandbox_not_found, "made with other settings");
  }
  if (auto taken = claim->take(); !taken)
    return tl::unexpected{taken.error()};
  if (found)
    return std::pair{std::move(*found), true};
  auto made = backend_->create(spec);
  if (made)
    return std::pair{std::move(*made), false};
  claim->drop();
  return tl::unexpected{made.error()};
}

result<void> claimed_backend::destroy(const std::string& id, bool purge) {
  auto claim = claims_->lock(id, patience);
  if (!claim)
    return tl::unexpected{claim.error()};
  auto gone = backend_->destroy(id, purge);
  if (gone)
    claim->drop();
  return gone;
}

result<endpoint> claimed_backend::adopt(const std::string& id) {
  auto claim = claims_->lock(id, patience);
  if (!claim)
    return tl::unexpected{claim.error()};
  if (auto& other = claim->other(); other && other->alive)
    return tl::unexpected{moved_to(other->who)};
  auto found = backend_->discover(id);
  if (!found)
    return found;
  if (auto taken = claim->take(); !taken)
    return tl::unexpected{taken.error()};
  return found;
}

std::vector<endpoint>
claimed_backend::take_over(const std::function<void(const std::string&)>& report) {
  std::vector<endpoint> found;
  for (auto& id : backend_->list()) {
    if (auto x = adopt(id))
      found.push_back(std::move(*x));
    else if (auto gone = destroy(id, false); !gone)
      report("cannot remove sandbox " + id + " of an earlier run: " + gone.error().message);
  }
  return found;
}

} // namespace corral
