#include "config/units.hpp"

#include <doctest/doctest.h>

#include "config/config.hpp"

using namespace corral;
using namespace std::chrono_literals;

TEST_CASE("a size is a whole number and a decimal or binary unit in either case") {
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("4096") == 4096);
  CHECK(parse_size("7B") == 7);
  CHECK(parse_size("1kB") == 1000);
  CHECK(parse_size("1KiB") == 1024);
  CHECK(parse_size("100MB") == 100'000'000);
  CHECK(parse_size("512 MiB") == 512 * mib);
  CHECK(parse_size("1gib") == gib);
  CHECK(parse_size("2TB") == 2'000'000'000'000);
  CHECK(parse_size("2TiB") == 2 * tib);
}

TEST_CASE("what is no size gives nothing") {
  for (auto text : {"", " ", "MiB", "-1", "+1", "1.5GiB", "1 ", " 1", "1  MiB", "1M", "1MiBs",
                    "0x10", "1e3", "18446744073709551616", "16777216TiB", "99999999999999999999"})
    CHECK_MESSAGE(!parse_size(text), text);
}

TEST_CASE("a duration without unit is in seconds") {
  CHECK(parse_duration("0") == 0ms);
  CHECK(parse_duration("90") == 90s);
  CHECK(parse_duration("250ms") == 250ms);
  CHECK(parse_duration("600s") == 600s);
  CHECK(parse_duration("10 m") == 10min);
  CHECK(parse_duration("4h") == 4h);
  CHECK(parse_duration("7d") == 168h);
}

TEST_CASE("what is no duration, or does not fit, gives nothing") {
  for (auto text : {"", "s", "-1s", "1.5h", "1S", "10 min", "1h30m", "9223372036854775808ms",
                    "9223372036854776", "18446744073709551615d"})
    CHECK_MESSAGE(!parse_duration(text), text);
}

TEST_CASE("a number has no sign, no exponent and a single point") {
  CHECK(parse_number("2") == 2.0);
  CHECK(parse_number("0.5") == 0.5);
  for (auto text : {"", ".", "-1", "1e3", "inf", "nan", "1.2.3", "1,5", " 1"})
    CHECK_MESSAGE(!parse_number(text), text);
}

TEST_CASE("formatting takes the largest exact unit and parsing gives the value back") {
  CHECK(format_size(0) == "0");
  CHECK(format_size(1000) == "1000");
  CHECK(format_size(1536) == "1536");
  CHECK(format_size(1536 * mib) == "1536MiB");
  CHECK(format_size(2 * gib) == "2GiB");
  CHECK(format_duration(0ms) == "0");
  CHECK(format_duration(1500ms) == "1500ms");
  CHECK(format_duration(600s) == "10m");
  CHECK(format_duration(90s) == "90s");
  CHECK(format_duration(4h) == "4h");
  CHECK(format_number(0.01) == "0.01");
  for (uint64_t x : {uint64_t{1}, 3 * kib, 5 * mib + 1, 7 * tib})
    CHECK(parse_size(format_size(x)) == x);
  for (auto x : {1ms, 999ms, 1000ms, 61'000ms, 86'400'000ms})
    CHECK(parse_duration(format_duration(x)) == x);
}
