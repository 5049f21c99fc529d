#include "bridge/principals.hpp"

namespace corral {

namespace {

std::string listed(const std::set<std::string>& names) {
  std::string result;
  for (auto& x : names)
    result += (result.empty() ? "" : ", ") + x;
  return result.empty() ? "none" : result;
}

/// The user that a request names, or stands for by naming a thread; nothing if it names neither.
std::optional<std::string> named_user(const request& r) {
  if (!r.to.thread.empty())
    return r.to.user;
  if (r.spec->id == op::acquire)
    return r.body.header.text("user").value_or("default");
  return r.body.header.text("user");
}

} // namespace

bool principal::may_name(std::string_view user) const {
  return !users || users->contains(std::string{user});
}

bool principal::may_use(const op_spec& x) const {
  auto everyones = x.id == op::hello || x.id == op::ping || !x.has_reply;
  return everyones || !ops || ops->contains(std::string{x.name});
}

principals::principals(std::vector<principal> keys) {
  by_name_.emplace(ipc, principal{std::string{ipc}, {}, {}, {}});
  for (auto& x : keys) {
    auto name = x.name;
    by_name_.emplace(std::move(name), std::move(x));
  }
}

const principal* principals::find(std::string_view name) const {
  auto i = by_name_.find(name);
  return i != by_name_.end() ? &i->second : nullptr;
}

const principal* principals::holder_of(std::string_view key) const {
  for (auto& [name, x] : by_name_)
    if (!key.empty() && x.key == key)
      return &x;
  return nullptr;
}

result<void> principals::check(const principal& who, const request& r) {
  if (!who.may_use(*r.spec))
    return failure(errc::forbidden, std::string{r.spec->name} + ": the key \"" + who.name
                                        + "\" may not use it; it may use: " + listed(*who.ops));
  auto user = named_user(r);
  if (user && !who.may_name(*user))
    return failure(errc::forbidden, std::string{r.spec->name} + ": the key \"" + who.name
                                        + "\" may not name the user \"" + *user
                                        + "\"; give \"user\", one of: " + listed(*who.users));
  return {};
}

std::string principals::named_sandbox(const request& r) {
  return !r.to.sandbox.empty() ? r.to.sandbox : r.body.header.text("sandbox").value_or("");
}

} // namespace corral
