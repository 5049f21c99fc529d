#include "bridge/principals.hpp"

#include <doctest/doctest.h>

using namespace corral;

namespace {

request asked(op what, fields header, target to = {}) {
  return {&spec_of(what), "1", std::move(to), {std::move(header), {}}};
}

std::string code(const principal& who, const request& r) {
  auto checked = principals::check(who, r);
  return checked ? "" : std::string{to_string(checked.error().code)};
}

const principal ann{"ann", "K", std::set<std::string>{"ann", "team"},
                    std::set<std::string>{"acquire", "exec", "list"}};

} // namespace

TEST_CASE("the socket's users may do everything, for everyone") {
  principals known;
  auto ipc = known.find("ipc");
  REQUIRE(ipc);
  CHECK(ipc->is_unlimited());
  for (auto& x : all_ops())
    CHECK(code(*ipc, asked(x.id, fields{}.set("user", "bob"))) == "");
}

TEST_CASE("a principal is found by name and by key, and nobody by no key") {
  principals known{{ann}};
  CHECK(known.find("ann")->key == "K");
  CHECK(known.holder_of("K")->name == "ann");
  CHECK(known.find("bob") == nullptr);
  CHECK(known.holder_of("L") == nullptr);
  CHECK(known.holder_of("") == nullptr);
}

TEST_CASE("a principal uses its ops, and what a connection itself needs") {
  for (auto& x : all_ops()) {
    auto free = x.id == op::hello || x.id == op::ping || x.id == op::data || x.id == op::ack;
    auto its = x.id == op::acquire || x.id == op::exec || x.id == op::list;
    target to{.sandbox = {}, .thread = "t", .user = "ann", .pool = {}};
    CHECK_MESSAGE((code(ann, asked(x.id, fields{}.set("user", "ann"), to)) == "") == (free || its),
                  x.name);
  }
}

TEST_CASE("a principal names its users only, and who names none means the default user") {
  auto exec_of = [](std::string user) {
    return asked(op::exec, {}, {.sandbox = {}, .thread = "t", .user = std::move(user), .pool = {}});
  };
  CHECK(code(ann, exec_of("team")) == "");
  CHECK(code(ann, exec_of("bob")) == "forbidden");
  CHECK(code(ann, exec_of("default")) == "forbidden");
  CHECK(code(ann, asked(op::acquire, fields{}.set("user", "ann"))) == "");
  CHECK(code(ann, asked(op::acquire, {})) == "forbidden");
  CHECK(code(ann, asked(op::list, {})) == "");
  CHECK(code(ann, asked(op::list, fields{}.set("user", "bob"))) == "forbidden");
  auto why = principals::check(ann, exec_of("bob")).error().message;
  CHECK(why
        == "exec: the key \"ann\" may not name the user \"bob\"; give \"user\", one of: ann, "
           "team");
}

TEST_CASE("a sandbox is named as a target or in a field") {
  CHECK(principals::named_sandbox(asked(op::get, {}, {.sandbox = "s", .thread = {}, .pool = {}}))
        == "s");
  CHECK(principals::named_sandbox(asked(op::release, fields{}.set("sandbox", "r"))) == "r");
  CHECK(principals::named_sandbox(asked(op::ping, {})) == "");
}
