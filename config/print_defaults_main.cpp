// Prints corral.yaml; the target config_yaml puts it in its place.

#include "config/load.hpp"

#include <iostream>

int main() {
  std::cout << corral::default_config_file() << std::flush;
  return std::cout ? 0 : 1;
}
