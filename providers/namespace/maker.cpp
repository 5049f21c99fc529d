#include "providers/namespace/maker.hpp"

#include "messages/wire/names.hpp"
#include "messages/wire/ops.hpp"
#include "os/files.hpp"
#include "os/random.hpp"
#include "providers/namespace/digest.hpp"
#include "providers/namespace/paths.hpp"
#include "providers/namespace/preparation.hpp"
#include "providers/namespace/process_end.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

namespace corral::jail {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// Together below the 30 s that a destroy may take.
constexpr auto kill_limit = 10s;
constexpr auto cgroup_limit = 5s;
constexpr auto purge_limit = 10s;

cgroup_tree open_cgroups(const namespace_settings& settings, const std::string& instance) {
  auto hierarchies = parse_hierarchies(read_small_file("/proc/self/mountinfo").value_or(""),
                                       read_small_file("/proc/self/cgroup").value_or(""));
  return cgroup_tree{find_cgroup_roots(hierarchies, "corral-" + instance), settings.limits};
}

std::string settings_digest(const namespace_settings& settings, const root_layout& layout) {
  bwrap_descriptors none;
  none.skills = settings.skills.empty() ? -1 : 0;
  none.mounts.resize(settings.mounts.size());
  auto all = bwrap_options(settings, layout, none);
  auto command = guest_command(settings, layout, "", -1, -1);
  all.insert(all.end(), command.begin(), command.end());
  for (auto& mount : settings.mounts)
    all.push_back(mount.source);
  auto& l = settings.limits;
  for (auto number : {l.memory, l.pids, l.file_size, l.open_files, l.core})
    all.push_back(std::to_string(number));
  all.push_back(std::to_string(l.cpus));
  all.push_back(settings.skills);
  all.push_back(settings.debuggers ? "debuggers" : "");
  return digest_of(all);
}

os_result<pipe_ends> pipe_holding(std::string_view text) {
  return make_pipe().and_then([&](pipe_ends&& ends) -> os_result<pipe_ends> {
    if (auto written = write_all(ends.write, text); !written)
      return tl::unexpected{written.error()};
    ends.write.reset();
    return std::move(ends);
  });
}

tl::unexpected<trouble> failed(std::string_view step, const os_error& why) {
  auto cause = why.number != 0 ? std::generic_category().message(why.number)
                               : std::string{"the daemon's log has the details"};
  error told{errc::sandbox_runtime,
             "the sandbox failed at the step '" + std::string{step} + "': " + cause,
             fields{}.set("step", step)};
  return tl::unexpected{trouble{std::move(told), std::string{step} + ": " + why.what}};
}

tl::unexpected<trouble> refused(errc code, const char* why) {
  return tl::unexpected{trouble{{code, why, {}}, why}};
}

} // namespace

sandbox_maker::sandbox_maker(namespace_settings settings, cgroup_tree cgroups, record_store records,
                             owner_dirs dirs, link_dirs links, seccomp_filter filter,
                             root_layout layout)
    : settings_{std::move(settings)}, cgroups_{std::move(cgroups)}, records_{std::move(records)},
      dirs_{std::move(dirs)}, links_{std::move(links)}, filter_{std::move(filter)},
      layout_{std::move(layout)}, digest_{settings_digest(settings_, layout_)} {}

result<std::unique_ptr<sandbox_maker>> sandbox_maker::open(namespace_settings settings) {
  if (auto checked = check_settings(settings); !checked)
    return tl::unexpected{checked.error()};
  auto instance = digest_of({settings.state_dir.lexically_normal(), settings.pool}).substr(0, 8);
  auto for_operator = [](std::string_view step) {
    return [step](os_error e) { return start_failure(step, std::move(e.what)).value(); };
  };
  auto state = make_directory(settings.state_dir, 0700).map_error(for_operator("state"));
  auto records = state.and_then([&] {
    return record_store::open(settings.state_dir / "sandboxes").map_error(for_operator("state"));
  });
  auto dirs = owner_dirs::open(settings, instance).map_error(for_operator("data"));
  auto links = link_dirs::open(settings.run_dir).map_error(for_operator("links"));
  auto filter = seccomp_filter::compile(settings.debuggers).map_error(for_operator("seccomp"));
  auto layout = (settings.rootfs.empty() ? host_layout(settings.run_dir / "etc")
                                         : directory_layout(settings.rootfs))
                    .map_error(for_operator("rootfs"));
  auto guest = install_programs(settings.run_dir / "guest",
                                {{settings.guest, "corral-guest"}, {settings.bash, "bash-static"}});
  auto probe = install_programs(settings.run_dir / "probe", {{settings.probe, "corral-probe"}});
  for (auto failed : {records ? nullptr : &records.error(), dirs ? nullptr : &dirs.error(),
                      links ? nullptr : &links.error(), filter ? nullptr : &filter.error(),
                      layout ? nullptr : &layout.error(), guest ? nullptr : &guest.error(),
                      probe ? nullptr : &probe.error()})
    if (failed)
      return tl::unexpected{*failed};
  auto cgroups = open_cgroups(settings, instance);
  std::unique_ptr<sandbox_maker> made{new sandbox_maker{
      std::move(settings), std::move(cgroups), std::move(*records), std::move(*dirs),
      std::move(*links), std::move(*filter), std::move(*layout)}};
  made->guest_programs_ = std::move(*guest);
  made->probe_programs_ = std::move(*probe);
  return made;
}

payload sandbox_maker::guest(const std::string& id) const {
  payload result;
  result.programs = &guest_programs_;
  result.command = [this, id](int secret, int uploads) {
    return guest_command(settings_, layout_, id, secret, uploads);
  };
  return result;
}

std::vector<std::string> sandbox_maker::warnings() const {
  auto result = cgroups_.warnings();
  result.insert(result.end(), dirs_.warnings().begin(), dirs_.warnings().end());
  if (settings_.host_network)
    result.push_back("network: host lets sandboxes reach every network and every abstract socket "
                     "that this machine reaches");
  if (::geteuid() != 0)
    result.push_back("not run as root: all sandboxes share the daemon's uid, and only their "
                     "namespaces keep them apart");
  return result;
}

bool sandbox_maker::is_ours(const sandbox_record& record) const {
  return record.pool == settings_.pool
         || (settings_.takes_strays && settings_.other_pools.count(record.pool) == 0);
}

attempt<std::optional<sandbox_record>>
sandbox_maker::refuse_collision(const sandbox_spec& spec) const {
  auto record = records_.read(spec.id);
  if (record && (record->who != spec.who || record->anonymous != spec.anonymous))
    return refused(errc::identity_collision, "the id belongs to another owner's sandbox");
  if (record && !is_ours(*record))
    return refused(errc::identity_collision, "the owner has a sandbox in another pool");
  return record;
}

attempt<made_sandbox> sandbox_maker::make(const sandbox_spec& spec, const payload& program) const {
  auto valid_owner = spec.anonymous ? spec.who.thread.empty() : is_valid_name(spec.who.thread);
  if (!is_sandbox_id(spec.id) || !is_valid_name(spec.who.user) || !valid_owner)
    return refused(errc::invalid_request, "not a valid id or owner");
  auto leftover = refuse_collision(spec);
  if (!leftover)
    return tl::unexpected{leftover.error()};
  if (*leftover)
    if (auto gone = unmake(spec.id, false, nullptr); !gone)
      return tl::unexpected{gone.error()};
  return assemble(spec, program);
}

/// The record comes first: whatever exists of a sandbox, its record does too.
attempt<made_sandbox> sandbox_maker::assemble(const sandbox_spec& spec,
                                              const payload& program) const {
  std::optional<launcher> starting;
  auto undo = [&](tl::unexpected<trouble> why) {
    auto ours = starting ? std::optional{starting->take()} : std::nullopt;
    static_cast<void>(unmake(spec.id, false, ours ? &*ours : nullptr));
    return why;
  };
  sandbox_record record{spec.id, settings_.pool, spec.who, spec.anonymous, 0, {},
                        {},      random_hex(16), digest_};
  if (auto written = records_.write(record); !written)
    return undo(failed("record", written.error()));
  auto tree = dirs_.prepare(spec);
  if (!tree)
    return undo(failed("directories", tree.error()));
  record.uid = tree->uid;
  auto link = links_.make(spec.id, tree->uid);
  if (!link)
    return undo(failed("link", link.error()));
  auto cgroups = cgroups_.make(spec.id);
  if (!cgroups)
    return undo(failed("cgroup", cgroups.error()));
  auto secret = pipe_holding(record.secret);
  if (!secret)
    return undo(failed("secret", secret.error()));
  auto todo = plan(*tree, *link, program, secret->read);
  if (!todo)
    return undo(tl::unexpected{todo.error()});
  todo->cgroups = std::move(*cgroups);
  auto launched = launcher::start(settings_, std::move(*todo));
  if (!launched)
    return undo(failed("launch", launched.error()));
  starting = std::move(*launched);
  if (auto started = start(*starting, record, *link, program); !started)
    return undo(tl::unexpected{started.error()});
  return made_sandbox{std::move(record), starting->take(), std::move(link->listener)};
}

attempt<launch_plan> sandbox_maker::plan(const owner_tree& tree, const guest_link& link,
                                         const payload& program, const unique_fd& secret) const {
  launch_plan result;
  auto status = make_pipe();
  auto filter = filter_.open();
  if (!status || !filter)
    return failed("descriptors", status ? filter.error() : status.error());
  result.status = std::move(*status);
  auto& passed = result.passed;
  bwrap_descriptors fds;
  fds.programs = passed.pass(*program.programs);
  fds.link = passed.pass(link.directory);
  fds.workspace = passed.pass(tree.workspace);
  fds.uploads = passed.pass(tree.uploads);
  fds.outputs = passed.pass(tree.outputs);
  fds.acp_workspace = passed.pass(tree.acp_workspace);
  fds.seccomp = result.keep(std::move(*filter));
  fds.status = passed.pass(result.status.write);
  if (auto added = add_sources(result, fds); !added)
    return tl::unexpected{added.error()};
  result.options = bwrap_options(settings_, layout_, fds);
  auto secret_fd = passed.pass(secret);
  result.command = program.command(secret_fd, passed.pass(tree.uploads));
  if (program.input)
    passed.pass_as(*program.input, 0);
  if (program.output)
    passed.pass_as(*program.output, 1);
  if (::geteuid() == 0)
    result.uid = tree.uid;
  return result;
}

/// The host's directories that the configuration names. Opened each time: one that was replaced
/// since is seen as it is now.
attempt<void> sandbox_maker::add_sources(launch_plan& plan, bwrap_descriptors& fds) const {
  auto add = [&](const std::filesystem::path& path) {
    return open_source(path).map([&](unique_fd&& fd) { return plan.keep(std::move(fd)); });
  };
  for (auto& mount : settings_.mounts) {
    auto fd = add(mount.source);
    if (!fd)
      return failed("mounts", fd.error());
    fds.mounts.push_back(*fd);
  }
  if (!settings_.skills.empty()) {
    auto fd = add(settings_.skills);
    if (!fd)
      return failed("skills", fd.error());
    fds.skills = *fd;
  }
  if (settings_.host_network && layout_.own_resolver) {
    // Often a link to a file that the host's resolver keeps.
    std::error_code missing;
    auto path = std::filesystem::canonical("/etc/resolv.conf", missing);
    fds.resolver = missing ? -1 : add(path).value_or(-1);
  }
  return {};
}

attempt<void> sandbox_maker::start(launcher& starting, sandbox_record& record,
                                   const guest_link& link, const payload& program) const {
  auto deadline = clock::now() + settings_.start_timeout;
  record.outer = starting.outer();
  if (auto written = records_.write(record); !written)
    return failed("record", written.error());
  auto init = starting.go(deadline);
  if (!init)
    return failed("bubblewrap", init.error());
  record.guest = *init;
  if (auto written = records_.write(record); !written)
    return failed("record", written.error());
  if (program.dials)
    if (auto dialled = starting.wait_for_dial(link.listener, deadline); !dialled)
      return failed("guest", dialled.error());
  return {};
}

attempt<adopted_sandbox> sandbox_maker::adopt(const std::string& id) const {
  auto record = records_.read(id);
  if (!record || record->anonymous || record->pool != settings_.pool)
    return refused(errc::sandbox_not_found, "no sandbox on record that can be adopted");
  auto link = links_.make(id, record->uid);
  if (!link)
    return failed("link", link.error());
  auto stale = record->digest != digest_;
  return adopted_sandbox{std::move(*record), std::move(link->listener), stale};
}

attempt<void> sandbox_maker::unmake(const std::string& id, bool purge, child_process* ours) const {
  auto on_record = records_.read(id);
  if (on_record && !is_ours(*on_record))
    return {}; // Another pool's: nothing of it is ours.
  auto record = on_record.value_or(sandbox_record{});
  if (auto ended = end_processes(record.outer, record.guest, ours, kill_limit); !ended)
    return failed("end processes", ended.error());
  if (auto removed = cgroups_.remove(id, cgroup_limit); !removed)
    return failed("remove cgroup", removed.error());
  if (auto removed = links_.remove(id); !removed)
    return failed("remove link", removed.error());
  // Without a record there is only a name to go by, and only anonymous files are named by the id.
  auto anonymous = record.anonymous || record.id.empty();
  if (anonymous || purge) {
    sandbox_spec spec{id, record.who, anonymous};
    auto purged = dirs_.purge(spec, purge_limit);
    if (!purged && purged.error().number != ETIMEDOUT)
      return failed("purge", purged.error());
  }
  if (auto removed = records_.remove(id); !removed)
    return failed("remove record", removed.error());
  return {};
}

attempt<void> sandbox_maker::end_left(const std::filesystem::path& state_dir,
                                      const std::string& id) const {
  std::error_code missing;
  if (!std::filesystem::is_directory(state_dir / "sandboxes", missing))
    return {};
  auto theirs = record_store::open(state_dir / "sandboxes");
  if (!theirs)
    return failed("record", theirs.error());
  auto record = theirs->read(id);
  if (!record)
    return {};
  if (auto ended = end_processes(record->outer, record->guest, nullptr, kill_limit); !ended)
    return failed("end processes", ended.error());
  if (auto removed = theirs->remove(id); !removed)
    return failed("remove record", removed.error());
  return {};
}

std::vector<std::string> sandbox_maker::ids() const {
  std::set<std::string> result;
  for (auto& found : {links_.ids(), cgroups_.ids(), dirs_.anonymous_ids()})
    result.insert(found.begin(), found.end());
  // Last, because a record is written before anything else of a sandbox exists: what has none now
  // isn't being made either.
  auto recorded = records_.ids();
  result.insert(recorded.begin(), recorded.end());
  for (auto& id : recorded)
    if (auto record = records_.read(id); record && !is_ours(*record))
      result.erase(id);
  return {result.begin(), result.end()};
}

} // namespace corral::jail
