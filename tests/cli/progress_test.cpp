#include "apps/cli/progress.hpp"

#include <doctest/doctest.h>

using namespace corral::cli;

TEST_CASE("progress says how much of how much") {
  CHECK(progress_text(0, 100) == "0.0 MiB of 0.0 MiB, 0 %");
  CHECK(progress_text(13'107'200, 104'857'600) == "12.5 MiB of 100.0 MiB, 12 %");
  CHECK(progress_text(1'048'576, std::nullopt) == "1.0 MiB");
}

TEST_CASE("an empty file is done, and one that grew is not beyond its end") {
  CHECK(progress_text(0, 0) == "0.0 MiB of 0.0 MiB, 100 %");
  CHECK(progress_text(200, 100) == "0.0 MiB of 0.0 MiB, 100 %");
}
