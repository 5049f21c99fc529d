#include "guest/files/ignore_list.hpp"

#include <doctest/doctest.h>

using corral::guest::is_ignored_name;

TEST_CASE("names that searches pass over") {
  for (auto name : {".git",
                    "node_modules",
                    "__pycache__",
                    "build",
                    "out",
                    "env",
                    "logs",
                    "target",
                    "coverage",
                    "site-packages",
                    ".DS_Store",
                    "thing.egg-info",
                    "x.swp",
                    "core~",
                    "z.log",
                    "a.tmp",
                    ".upload-active.part",
                    "a.bak",
                    "b.cache",
                    ".log"}) {
    CAPTURE(name);
    CHECK(is_ignored_name(name));
  }
}

TEST_CASE("names that only look like them") {
  for (auto name : {"foo.py", "myenv", "node_modules_x", "x.git", "log", "outputs", ".env.local",
                    ".gitignore", "Build", ".upload-note.txt", "a.log.txt", ""}) {
    CAPTURE(name);
    CHECK_FALSE(is_ignored_name(name));
  }
}
