// Who may connect, as the configuration says it.

#include "config/load.hpp"
#include "config/option.hpp"
#include "tests/config/support.hpp"

#include <doctest/doctest.h>

using namespace corral;
using namespace corral::testing;

namespace {

const std::string key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
const std::string other = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";

/// As YAML wants it: quoted, dollars doubled.
std::string quoted(std::string x) {
  for (size_t i = 0; (i = x.find('$', i)) != std::string::npos; i += 2)
    x.insert(i, 1, '$');
  return "'" + x + "'";
}

std::string item(const std::string& name, const std::string& k = key,
                 const std::string& users = "'*'") {
  return "{name: " + name + ", key: " + quoted(k) + ", users: " + users + "}";
}

const std::string on_tcp = "listen: ['tcp://*:7700']\n";
const std::string secret = "curve_secret_file: /etc/k\n";

} // namespace

TEST_CASE("keys are for the users and ops that they list, or for all") {
  auto x = loaded({.yaml = on_tcp + secret + "keys:\n  - " + item("web", key, "[ann, bob]")
                           + "\n  - {name: ops, key: " + quoted(other)
                           + ", users: '*', ops: [list, stats]}\n"});
  REQUIRE(x.keys.size() == 2);
  CHECK(x.listen == std::vector<std::string>{"tcp://*:7700"});
  CHECK(x.keys[0].name == "web");
  CHECK(x.keys[0].key == key);
  CHECK(x.keys[0].users == std::vector<std::string>{"ann", "bob"});
  CHECK_FALSE(x.keys[0].ops);
  CHECK(x.keys[1].key == other);
  CHECK_FALSE(x.keys[1].users);
  CHECK(x.keys[1].ops == std::vector<std::string>{"list", "stats"});
}

TEST_CASE("keys print as they are read") {
  auto x = loaded({.yaml = on_tcp + secret + "keys: [" + item("web", other, "[ann]") + "]\n"});
  auto again = loaded({.yaml = on_tcp + secret + "keys: " + to_yaml(keys_node(x.keys)) + "\n"});
  CHECK(again.keys == x.keys);
}

TEST_CASE("TCP takes keys or an explicit word, and an error says which") {
  for (std::string name : {"listen", "events_listen"}) {
    auto endpoint = name + ": ['tcp://127.0.0.1:7700']\n";
    auto plain = errors_of({.yaml = endpoint});
    CHECK(plain.starts_with("corral.yaml:1: " + name + ": TCP without keys"));
    CHECK(plain.find("insecure: true") != std::string::npos);
    CHECK(errors_of({.yaml = endpoint + secret}).find("nobody could connect") != std::string::npos);
    CHECK(errors_of({.yaml = endpoint + secret + "keys: [" + item("a") + "]\n"}) == "");
    CHECK(errors_of({.yaml = endpoint + "insecure: true\n"}) == "");
  }
  CHECK(errors_of({.yaml = "insecure: true\nkeys: [" + item("a") + "]\n"})
            .starts_with("corral.yaml:1: insecure: expected false beside keys"));
}

TEST_CASE("what is no endpoint is an error") {
  for (auto x : {"ipc:///s", "tcp://:7700", "tcp://h", "tcp://h:0", "tcp://h:70000", "tcp://h:x",
                 "tcp://a b:1", "h:1"})
    CHECK_MESSAGE(errors_of({.yaml = "insecure: true\nlisten: ['" + std::string{x} + "']\n"})
                      .starts_with("corral.yaml:2: listen[0]: expected tcp://HOST:PORT"),
                  x);
}

TEST_CASE("what is wrong with a key is named by its place") {
  auto error = [](const std::string& list) {
    return errors_of({.yaml = secret + "keys: [" + list + "]\n"});
  };
  auto at = [](const std::string& where) { return "corral.yaml:2: keys" + where; };
  CHECK(error(item("ipc")).starts_with(at("[0].name: expected 1 to 64 letters")));
  CHECK(error(item("a", "short")).starts_with(at("[0].key: expected the 40 characters")));
  CHECK(error(item("a", key, "['b c']")).starts_with(at("[0].users[0]: expected a user")));
  CHECK(error(item("a", key, "ann")).starts_with(at("[0].users: expected \"*\"")));
  CHECK(
      error("{name: a, key: " + quoted(key) + "}").starts_with(at("[0].users: expected a value")));
  CHECK(error("{name: a, key: " + quoted(key) + ", users: '*', ops: [fly]}")
            .starts_with(at("[0].ops[0]: expected the name of an op")));
  CHECK(error("{name: a, kye: x, key: " + quoted(key) + ", users: '*'}")
            .starts_with(at("[0].kye: unknown key, the nearest known one is key")));
  CHECK(error(item("a") + ", " + item("a", other))
            .starts_with(at(": keys[1].name: expected another")));
  CHECK(error(item("a") + ", " + item("b")).starts_with(at(": keys[1].key: expected another")));
}
