#include "providers/namespace/record_store.hpp"

#include "messages/wire/fields.hpp"
#include "messages/wire/names.hpp"
#include "messages/wire/ops.hpp"
#include "os/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <limits>

namespace corral::jail {

namespace {

fields to_fields(const process_name& x) {
  fields result;
  return result.set("pid", x.pid).set("start_time", x.start_time);
}

std::optional<process_name> to_process(const std::optional<fields>& x) {
  if (!x)
    return std::nullopt;
  auto pid = x->integer("pid");
  auto start = x->integer("start_time");
  // 1 is never ours, and below it a signal would reach whole groups.
  if (!pid || !start || *pid < 0 || *pid == 1 || *pid > std::numeric_limits<pid_t>::max()
      || *start < 0)
    return std::nullopt;
  return process_name{static_cast<pid_t>(*pid), static_cast<uint64_t>(*start)};
}

bool is_valid_owner(const owner& x, bool anonymous) {
  return is_valid_name(x.user) && (anonymous ? x.thread.empty() : is_valid_name(x.thread));
}

} // namespace

std::string sandbox_record::to_json() const {
  fields result;
  result.set("id", id).set("pool", pool).set("user", who.user).set("thread", who.thread);
  result.set("anonymous", anonymous).set("uid", uid).set("secret", secret).set("digest", digest);
  result.set("outer", to_fields(outer)).set("guest", to_fields(guest));
  return result.dump();
}

std::optional<sandbox_record> sandbox_record::from_json(std::string_view text) {
  auto x = fields::parse(text);
  if (!x)
    return std::nullopt;
  auto anonymous = x->flag("anonymous");
  auto uid = x->integer("uid");
  auto outer = to_process(x->object("outer"));
  auto guest = to_process(x->object("guest"));
  auto text_of = [&](const char* name) { return x->text(name).value_or(""); };
  sandbox_record result;
  result.id = text_of("id");
  result.pool = text_of("pool");
  result.who = {text_of("user"), text_of("thread")};
  result.secret = text_of("secret");
  result.digest = text_of("digest");
  if (!anonymous || !uid || !outer || !guest || *uid < 0
      || *uid >= std::numeric_limits<uid_t>::max() || !is_sandbox_id(result.id)
      || !is_valid_owner(result.who, *anonymous))
    return std::nullopt;
  result.anonymous = *anonymous;
  result.uid = static_cast<uid_t>(*uid);
  result.outer = *outer;
  result.guest = *guest;
  return result;
}

os_result<record_store> record_store::open(const std::filesystem::path& directory) {
  return make_directory(directory, 0700).map([&] { return record_store{directory}; });
}

os_result<void> record_store::write(const sandbox_record& record) const {
  return replace_file(path_of(record.id), record.to_json());
}

std::optional<sandbox_record> record_store::read(const std::string& id) const {
  auto text = read_small_file(path_of(id), fields::max_bytes);
  auto record = text ? sandbox_record::from_json(*text) : std::nullopt;
  return record && record->id == id ? record : std::nullopt;
}

os_result<void> record_store::remove(const std::string& id) const {
  auto path = path_of(id);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return last_os_error("remove", path.native());
  return {};
}

std::vector<std::string> record_store::ids() const {
  std::vector<std::string> result;
  std::error_code ignored;
  for (std::filesystem::directory_iterator i{directory_, ignored}, end; i != end;
       i.increment(ignored)) {
    auto& path = i->path();
    if (path.extension() == ".json" && is_sandbox_id(path.stem().native()))
      result.push_back(path.stem().native());
  }
  return result;
}

} // namespace corral::jail
