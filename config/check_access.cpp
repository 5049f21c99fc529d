// Whoever reaches a TCP port could do everything: that takes keys, or an explicit word.

#include "config/loaded.hpp"

namespace corral {

namespace {

class access_checker {
public:
  access_checker(const loaded_config& x, config_errors& errors) : x_{x}, errors_{errors} {}

  void check_endpoints() {
    auto& c = x_.values;
    for (auto [name, endpoints] :
         {std::pair{"listen", &c.listen}, {"events_listen", &c.events_listen}})
      if (!endpoints->empty() && !c.insecure)
        check_secured(name);
    if (c.insecure && !c.keys.empty())
      fail("insecure", "expected false beside keys: without encryption nobody proves to hold one");
  }

  void check_keys() {
    auto& keys = x_.values.keys;
    for (size_t i = 0; i < keys.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        auto at = [&](size_t n) { return "keys[" + std::to_string(n) + "]"; };
        if (keys[i].name == keys[j].name)
          fail("keys", at(i) + ".name: expected another name than that of " + at(j));
        if (keys[i].key == keys[j].key)
          fail("keys", at(i) + ".key: expected another key than that of " + at(j));
      }
  }

private:
  void check_secured(const std::string& name) {
    auto& c = x_.values;
    if (c.curve_secret_file.empty())
      fail(name, "TCP without keys lets everyone who reaches the port do everything: give "
                 "curve_secret_file (corral keygen makes one) and keys, or say insecure: true");
    else if (c.keys.empty())
      fail(name, "nobody could connect: give keys, one for each client (corral keygen prints the "
                 "line), or say insecure: true");
  }

  void fail(const std::string& key, std::string message) {
    auto x = x_.origins.find(key);
    if (x == x_.origins.end())
      errors_.push_back({"", 0, key, std::move(message)});
    else
      errors_.push_back({x->second.file, x->second.line, x->second.name, std::move(message)});
  }

  const loaded_config& x_;
  config_errors& errors_;
};

} // namespace

void check_access(const loaded_config& x, config_errors& errors) {
  auto had_errors = !errors.empty(); // What is missing may just have been wrong.
  access_checker c{x, errors};
  if (had_errors)
    return;
  c.check_endpoints();
  c.check_keys();
}

} // namespace corral
