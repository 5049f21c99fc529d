#include "bench/children.hpp"

#include <filesystem>
#include <stdexcept>

namespace corral::bench {

child_process spawn_self(const std::vector<std::string>& arguments) {
  spawn_options options;
  options.argv = {std::filesystem::read_symlink("/proc/self/exe").native()};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  auto x = child_process::spawn(options);
  if (!x)
    throw std::runtime_error{x.error().what};
  return std::move(*x);
}

spinners::spinners(int count) {
  for (int i = 0; i < count; ++i)
    processes_.push_back(spawn_self({"--spin"}));
}

void spin() {
  for (volatile unsigned long n = 0;;)
    n = n + 1;
}

} // namespace corral::bench
