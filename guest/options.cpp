#include "guest/options.hpp"

#include <fcntl.h>
#include <getopt.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

namespace corral::guest {

namespace {

constexpr option known[] = {{"socket", required_argument, nullptr, 's'},
                            {"id", required_argument, nullptr, 'i'},
                            {"shell-dir", required_argument, nullptr, 'd'},
                            {"workspace", required_argument, nullptr, 'w'},
                            {"secret-fd", required_argument, nullptr, 'S'},
                            {"uploads-fd", required_argument, nullptr, 'u'},
                            {"orphan-timeout", required_argument, nullptr, 'o'},
                            {"bash", required_argument, nullptr, 'b'},
                            {"connected-fd", required_argument, nullptr, 'c'},
                            {nullptr, 0, nullptr, 0}};

std::optional<int> parse_number(std::string_view text) {
  int x = -1;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (fault != std::errc{} || end != text.data() + text.size() || x < 0)
    return std::nullopt;
  return x;
}

/// Takes an inherited descriptor, which is not to reach the shell.
bool take_descriptor(std::string_view text, unique_fd& to) {
  auto fd = parse_number(text);
  if (!fd || *fd <= 2 || ::fcntl(*fd, F_SETFD, FD_CLOEXEC) != 0)
    return false;
  to.reset(*fd);
  return true;
}

std::vector<std::string> default_shells() {
  std::error_code fault;
  auto self = std::filesystem::read_symlink("/proc/self/exe", fault);
  return {"/bin/bash", "/usr/bin/bash", self.parent_path() / "bash-static"};
}

/// False if the value makes no sense.
bool apply(int name, const std::string& value, guest_options& x) {
  switch (name) {
  case 's':
    x.socket = value;
    return true;
  case 'i':
    x.id = value;
    return true;
  case 'd':
    x.control = value;
    return true;
  case 'w':
    x.workspace = value;
    return true;
  case 'b':
    x.shells.push_back(value);
    return true;
  case 'S':
    return take_descriptor(value, x.secret);
  case 'u':
    return take_descriptor(value, x.uploads);
  case 'c':
    return take_descriptor(value, x.connected);
  case 'o': {
    auto seconds = parse_number(value);
    x.orphan_timeout = std::chrono::seconds{seconds.value_or(0)};
    return seconds.has_value();
  }
  default:
    return false;
  }
}

} // namespace

tl::expected<guest_options, std::string> parse_options(int argc, char** argv) {
  guest_options x;
  int index = 0;
  opterr = 0;
  for (int name; (name = ::getopt_long(argc, argv, "", known, &index)) != -1;)
    if (name == '?')
      return tl::unexpected{"unknown option or missing value: " + std::string{argv[optind - 1]}};
    else if (!apply(name, optarg, x))
      return tl::unexpected{"bad value for --" + std::string{known[index].name} + ": " + optarg};
  if (optind < argc)
    return tl::unexpected{"unexpected argument: " + std::string{argv[optind]}};
  if (x.id.empty() || !x.secret)
    return tl::unexpected{std::string{"--id and --secret-fd are needed"}};
  if (x.socket.empty() == !x.connected)
    return tl::unexpected{std::string{"give either --socket or --connected-fd"}};
  if (x.shells.empty())
    x.shells = default_shells();
  else
    x.shells.push_back(default_shells().back());
  return x;
}

} // namespace corral::guest
