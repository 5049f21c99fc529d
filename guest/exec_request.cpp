#include "guest/exec_request.hpp"

#include "messages/wire/names.hpp"
#include "messages/wire/ops.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace corral::guest {

namespace {

error invalid(const std::string& text) {
  return {errc::invalid_request, "exec: " + text, {}};
}

/// A relative directory is below the workspace, as all relative paths are.
std::string resolve(const std::string& path, const std::string& workspace) {
  return path.starts_with('/') ? path : workspace + "/" + path;
}

result<void> check_directory(const std::string& path, const std::string& shown) {
  struct stat found {};
  auto number = ::stat(path.c_str(), &found) != 0 ? errno : S_ISDIR(found.st_mode) ? 0 : ENOTDIR;
  if (number == 0)
    return {};
  return failure(errc_of_errno(number), "exec: cwd is not a directory that can be entered",
                 fields{}.set("path", shown).set("operation", "exec"));
}

result<void> read_environment(const fields& header, command_scope& to) {
  auto env = header.object("env");
  if (header.has("env") && !env)
    return tl::unexpected{invalid("env must be an object of strings")};
  for (auto& name : env ? env->names() : std::vector<std::string>{}) {
    auto value = env->text(name);
    if (!is_environment_name(name) || !value || value->find('\0') != std::string::npos)
      return tl::unexpected{invalid("env must be an object of strings without NUL, with names that "
                                    "match [A-Za-z_][A-Za-z0-9_]*")};
    to.variables.emplace_back(name, *value);
  }
  return {};
}

result<void> read_directory(const fields& header, const std::string& workspace, command_scope& to) {
  if (!header.has("cwd"))
    return {};
  auto cwd = header.text("cwd");
  if (!cwd || cwd->empty() || cwd->find('\0') != std::string::npos)
    return tl::unexpected{invalid("cwd must be a path without NUL")};
  to.directory = resolve(*cwd, workspace);
  return check_directory(*to.directory, *cwd);
}

} // namespace

result<shell_command> parse_command(const message& request, const std::string& workspace,
                                    std::chrono::milliseconds default_timeout) {
  shell_command x;
  if (!request.has_part("command"))
    return tl::unexpected{invalid("the part \"command\" is missing")};
  x.script = request.part_of("command").view();
  if (x.script.find('\0') != std::string::npos)
    return tl::unexpected{invalid("a command can't have NUL bytes; pass them by stdin or a file")};
  auto timeout = request.header.integer("timeout_ms").value_or(default_timeout.count());
  if (timeout < 1 || timeout > max_timeout_ms)
    return tl::unexpected{
        invalid("timeout_ms must be from 1 to " + std::to_string(max_timeout_ms))};
  x.timeout = std::chrono::milliseconds{timeout};
  if (auto read = read_environment(request.header, x.scope); !read)
    return tl::unexpected{read.error()};
  if (auto read = read_directory(request.header, workspace, x.scope); !read)
    return tl::unexpected{read.error()};
  x.input_open = request.header.flag("stdin_open").value_or(false);
  if (request.has_part("stdin"))
    x.input = request.part_of("stdin").view();
  return x;
}

result<result_wish> parse_wish(const message& request, size_t default_chars) {
  result_wish x{{"output", "stdout", "stderr"}, default_chars};
  if (request.header.has("want")) {
    auto want = request.header.texts("want").value_or(std::vector<std::string>{""});
    for (auto& name : want)
      if (!x.want.contains(name))
        return tl::unexpected{invalid("want must be a list of output, stdout and stderr")};
    x.want = {want.begin(), want.end()};
  }
  auto chars = request.header.integer("max_output_chars");
  if (chars && *chars < 0)
    return tl::unexpected{invalid("max_output_chars must not be negative")};
  if (chars)
    x.max_chars = static_cast<size_t>(*chars);
  return x;
}

} // namespace corral::guest
