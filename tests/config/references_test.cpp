#include <doctest/doctest.h>

#include "tests/config/support.hpp"

using namespace corral;
using namespace corral::testing;

TEST_CASE("a value of $NAME comes from the environment, in options, lists and mappings") {
  machine m{.yaml = "queue: $Q\n"
                    + pool_yaml("environment: {TOKEN: $T, PLAIN: t}\n"
                                "    mounts: [{source: \"$S\", target: /data}]"),
            .variables = {{"Q", "12"}, {"T", "s3cr3t: [$x]"}, {"S", "/src"}},
            .links = {{"/src", "/src"}}};
  CHECK(loaded(m).queue == 12);
  CHECK(loaded_pool(m).environment.at("TOKEN") == "s3cr3t: [$x]");
  CHECK(loaded_pool(m).environment.at("PLAIN") == "t");
  CHECK(loaded_pool(m).mounts.at(0).source == "/src");
}

TEST_CASE("it also works in overrides and variables") {
  machine m{.variables = {{"Q", "12"}, {"CORRAL_POOL_REPLICAS", "$Q"}}, .overrides = {"queue=$Q"}};
  CHECK(loaded(m).queue == 12);
  CHECK(loaded_pool(m).replicas == 12);
}

TEST_CASE("a variable that is not set is an error naming it; an empty one is a value") {
  machine m{.yaml = pool_yaml("environment:\n      A: $MISSING\n      B: $EMPTY"),
            .variables = {{"EMPTY", ""}}};
  CHECK(errors_of(m)
        == "corral.yaml:4: pools.default.environment.A: expected the environment to have MISSING, "
           "which is not set");
  m.variables["MISSING"] = "here";
  CHECK(loaded_pool(m).environment.at("B") == "");
}

TEST_CASE("two dollars are one, and any other dollar is an error") {
  CHECK(loaded_pool({.yaml = pool_yaml("environment: {A: $$HOME, B: a$$b, C: $$$$}")}).environment
        == std::map<std::string, std::string>{{"A", "$HOME"}, {"B", "a$b"}, {"C", "$$"}});
  for (std::string text : {"$", "a$b", "$A-b", "${A}", "$1", "$$$"})
    CHECK_MESSAGE(errors_of({.yaml = pool_yaml("environment: {X: \"" + text + "\"}")})
                      == "corral.yaml:3: pools.default.environment.X: expected $NAME as the whole "
                         "value, or $$ for a dollar sign, found \""
                             + text + "\"",
                  text);
}

TEST_CASE("no error shows a value that came from the environment") {
  machine m{
      .yaml = "queue: $SECRET\n" + pool_yaml("mounts: [{source: $PATH_OF_IT, target: $TO}]"),
      .variables = {{"SECRET", "hunter2"}, {"PATH_OF_IT", "/hunter2"}, {"TO", "/usr/hunter2"}}};
  CHECK(errors_of(m)
        == "corral.yaml:1: queue: expected a whole number from 1 to 1000000, found the value of "
           "$SECRET\n"
           "corral.yaml:4: pools.default.mounts[0].source: expected an existing path, found the "
           "value of $PATH_OF_IT\n"
           "corral.yaml:4: pools.default.mounts[0].target: expected a path outside the reserved "
           "/usr, found the value of $TO");
}

TEST_CASE("names in the environment mapping are names of variables") {
  CHECK(errors_of({.yaml = pool_yaml("environment: {_a1: x, 1a: y, \"a=b\": z}")})
        == "corral.yaml:3: pools.default.environment: expected names of letters, digits and _, not "
           "starting with a digit, found \"1a\"\n"
           "corral.yaml:3: pools.default.environment: expected names of letters, digits and _, not "
           "starting with a digit, found \"a=b\"");
  CHECK(errors_of({.yaml = pool_yaml("environment: {A: [x], B: }")})
        == "corral.yaml:3: pools.default.environment.A: expected text, found a list\n"
           "corral.yaml:3: pools.default.environment.B: expected text, found nothing");
}
