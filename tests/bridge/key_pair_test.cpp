#include "bridge/key_pair.hpp"

#include "os/files.hpp"
#include "os/temp_dir.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

using namespace corral;

namespace {

struct fixture {
  temp_dir dir = std::move(*temp_dir::make("keys"));
  std::filesystem::path file = dir.path() / "k";
  key_pair keys = key_pair::make();

  std::string refusal() {
    auto x = read_key_file(file);
    return x ? "" : x.error();
  }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "a key file holds a pair, for its owner alone") {
  CHECK(is_curve_key(keys.public_key));
  CHECK(is_curve_key(keys.secret_key));
  REQUIRE(write_key_file(file, keys));
  struct stat is {};
  REQUIRE(::stat(file.c_str(), &is) == 0);
  CHECK((is.st_mode & 0777) == 0600);
  auto x = read_key_file(file);
  REQUIRE(x);
  CHECK(x->public_key == keys.public_key);
  CHECK(x->secret_key == keys.secret_key);
}

TEST_CASE_FIXTURE(fixture, "a key file is never written over") {
  REQUIRE(write_key_file(file, keys));
  auto again = write_key_file(file, key_pair::make());
  REQUIRE_FALSE(again);
  CHECK(again.error().number == EEXIST);
  CHECK(read_key_file(file)->secret_key == keys.secret_key);
}

TEST_CASE_FIXTURE(fixture, "a key file that others may read is refused, and it says what to do") {
  REQUIRE(write_key_file(file, keys));
  for (auto mode : {0640, 0604, 0620}) {
    REQUIRE(::chmod(file.c_str(), static_cast<mode_t>(mode)) == 0);
    CHECK(refusal().find("chmod 600") != std::string::npos);
  }
}

TEST_CASE_FIXTURE(fixture, "what is no key file is refused without showing what it holds") {
  CHECK(refusal().find("corral keygen") != std::string::npos);
  for (auto text : {std::string{"hidden"}, std::string{"{}"},
                    "{\"public\":\"" + key_pair::make().public_key + "\",\"secret\":\""
                        + keys.secret_key + "\"}"}) {
    REQUIRE(write_file_atomically(file, text));
    CHECK(refusal().find("corral keygen") != std::string::npos);
    CHECK(refusal().find("hidden") == std::string::npos);
    CHECK(refusal().find(keys.secret_key) == std::string::npos);
  }
}
