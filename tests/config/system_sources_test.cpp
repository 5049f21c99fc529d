#include "config/system_sources.hpp"

#include <doctest/doctest.h>

using namespace corral;

TEST_CASE("the process's sources read its file, variables and paths") {
  auto x = system_sources(CORRAL_YAML, {"queue=9"});
  CHECK(x.file == CORRAL_YAML);
  CHECK(x.read_file(CORRAL_YAML).value().starts_with("# Every option"));
  CHECK(!x.read_file("/nonexistent/corral.yaml"));
  CHECK(x.real_path("/proc/self/..") == "/proc");
  CHECK(!x.real_path("/nonexistent"));
  CHECK(x.environment("PATH").has_value());
  CHECK(!x.environment("CORRAL_NO_SUCH_VARIABLE").has_value());
  CHECK(load_config(x).value().queue == 9);
}
