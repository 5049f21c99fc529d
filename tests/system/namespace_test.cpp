#include "tests/support/namespace_pool.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace corral::test;

TEST_CASE("the probe passes on this machine") {
  namespace_pool pool;
  auto backend = pool.open();
  auto probed = backend->probe();
  CHECK_MESSAGE(probed, (probed ? std::string{} : probed.error().message));
  CHECK(backend->list().empty());
}

TEST_CASE("a sandbox runs commands in its workspace and is gone after destroy") {
  namespace_pool pool;
  auto backend = pool.open();
  auto made = backend->create(spec_of("t1"));
  REQUIRE_MESSAGE(made, (made ? std::string{} : made.error().message));
  guest_driver guest{*made};
  auto x = guest.run("pwd; id; echo $HOME $LANG $USER; ls -la / /run /mnt/user-data /etc/ssl; mount");
  MESSAGE(x.output);
  CHECK(backend->healthy(made->id));
  CHECK(backend->destroy(made->id, false));
  CHECK(backend->list().empty());
}
