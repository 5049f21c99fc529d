// Prints what is made from the table of options: corral.yaml, or with --manual
// docs/configuration.md. The targets config_yaml and config_docs put them in their places.

#include "config/load.hpp"

#include <iostream>
#include <string_view>

int main(int argc, char** argv) {
  auto manual = argc > 1 && std::string_view{argv[1]} == "--manual";
  std::cout << (manual ? corral::configuration_manual() : corral::default_config_file())
            << std::flush;
  return std::cout ? 0 : 1;
}
