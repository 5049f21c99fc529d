// corrald: serves sandboxes over ZeroMQ. Reads its configuration; the daemon itself is daemon.cpp.

#include "apps/daemon.hpp"
#include "apps/daemon_log.hpp"
#include "config/system_sources.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>
#include <signal.h>

namespace {

constexpr auto examples = R"(Examples:
  corrald                                     serve with the defaults
  corrald --config /etc/corral.yaml           with a configuration file
  corrald --set pool.replicas=8 --set data_dir=/srv/corral
  corrald --print-config                      every option, its value and where it comes from
  corrald --check-config --config new.yaml    check a file without serving

Precedence: --set, then CORRAL_* variables (CORRAL_DATA_DIR, CORRAL_POOL_REPLICAS), then the file,
then the defaults. SIGTERM and SIGINT drain; a second one ends at once. SIGHUP reads the
configuration anew, as corral reload does.

Exit status: 0 ended as asked, 1 could not start, 2 wrong usage or configuration, 70 a fault of corrald's.)";

/// Every thread inherits it: the daemon waits for these signals in one place.
void block_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{"Serves isolated sandboxes to AI agents over ZeroMQ."};
  std::string file;
  std::vector<std::string> overrides;
  bool print = false, check = false;
  app.add_option("-c,--config", file, "Configuration file (YAML)");
  app.add_option("--set", overrides, "Set an option: NAME=VALUE; may be given several times");
  app.add_flag("--print-config", print, "Print the configuration in effect and exit");
  app.add_flag("--check-config", check, "Check the configuration and exit");
  app.set_version_flag("--version", "corrald " CORRAL_VERSION);
  app.footer(examples);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  auto sources =
      corral::system_sources(file.empty() ? std::nullopt : std::optional{file}, overrides);
  auto config = corral::load_config(sources);
  if (!config) {
    std::cerr << corral::to_string(config.error()) << '\n';
    return 2;
  }
  if (check) {
    std::cout << "the configuration is valid\n";
    return 0;
  }
  if (print) {
    std::cout << corral::print_config(sources).value_or("");
    return 0;
  }
  block_signals();
  corral::start_log(config->log_level, config->log_format);
  auto status = corral::run_daemon(*config, [&] { return corral::load_config(sources); });
  if (!status) {
    std::cerr << "corrald: " << status.error() << '\n';
    return 1;
  }
  return *status;
}
