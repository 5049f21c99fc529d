#include "apps/cli/completion.hpp"

#include "apps/cli/command_table.hpp"
#include "apps/cli/commands.hpp"
#include "apps/cli/described.hpp"
#include "apps/cli/endpoint.hpp"
#include "apps/cli/terminal.hpp"

#include <algorithm>
#include <set>

namespace corral::cli {

namespace {

/// Reads words as CLI11 would, but stops at the cursor.
class cursor {
public:
  explicit cursor(const CLI::App& root) : root_{root} {}

  void pass(const std::string& word) {
    if (after_mark_ || word == "--") {
      after_mark_ = true;
    } else if (awaits_) {
      note(*std::exchange(awaits_, nullptr), word);
    } else if (word.size() > 1 && word.starts_with('-')) {
      pass_option(word);
    } else if (!command_) {
      for (auto x : root_.get_subcommands([&](const CLI::App* x) { return x->get_name() == word; }))
        command_ = x;
    } else {
      ++positionals_;
    }
  }

  completion here(const std::string& word) const {
    completion x;
    x.given = given_;
    auto equals = word.find('=');
    if (after_mark_)
      return x;
    if (awaits_)
      value(x, *awaits_, "", word);
    else if (word.starts_with("--") && equals != std::string::npos)
      value_in(x, word, equals);
    else if (word.starts_with('-'))
      options(x, word);
    else if (!command_)
      commands(x, word);
    else if (auto next = positional())
      value(x, *next, "", word);
    return x;
  }

private:
  static bool takes_value(const CLI::Option& x) { return x.get_items_expected_min() > 0; }

  static bool is_repeatable(const CLI::Option& x) { return x.get_items_expected_max() > 1; }

  static std::string long_name(const CLI::Option& x) {
    return x.get_lnames().empty() ? std::string{} : "--" + x.get_lnames().front();
  }

  const CLI::Option* find(const std::string& name) const {
    for (auto app : {command_, &root_})
      if (auto x = app ? app->get_option_no_throw(name) : nullptr)
        return x;
    return nullptr;
  }

  const CLI::Option* positional() const {
    int passed = 0;
    for (auto x : command_->get_options())
      if (x->get_positional() && passed++ == positionals_)
        return x;
    return nullptr;
  }

  void note(const CLI::Option& x, const std::string& text) { given_[long_name(x)] = text; }

  void pass_option(const std::string& word) {
    auto equals = word.find('=');
    auto x = find(word.substr(0, equals));
    if (!x)
      return;
    if (equals != std::string::npos)
      note(*x, word.substr(equals + 1));
    else if (takes_value(*x))
      awaits_ = x;
    else
      note(*x, "");
  }

  static void add(completion& x, const std::string& word, const std::string& begun) {
    if (word.starts_with(begun))
      x.words.push_back(word);
  }

  static void value(completion& x, const CLI::Option& option, const std::string& prefix,
                    const std::string& begun) {
    const auto& choices = option.get_option_text();
    x.prefix = prefix;
    x.begun = begun;
    x.value = option.get_type_name();
    if (choices.find('|') == std::string::npos)
      return;
    x.value.clear();
    for (auto& word : CLI::detail::split(choices, '|'))
      add(x, prefix + word, prefix + begun);
  }

  void value_in(completion& x, const std::string& word, size_t equals) const {
    auto option = find(word.substr(0, equals));
    if (option && takes_value(*option))
      value(x, *option, word.substr(0, equals + 1), word.substr(equals + 1));
  }

  void options(completion& x, const std::string& word) const {
    for (auto app : {command_, &root_})
      for (auto option : app ? app->get_options() : std::vector<const CLI::Option*>{}) {
        auto name = long_name(*option);
        if (!name.empty() && (!given_.contains(name) || is_repeatable(*option)))
          add(x, name, word);
      }
    if (command_ && command_->get_name() == "exec")
      add(x, "--", word);
    std::sort(x.words.begin(), x.words.end());
    x.words.erase(std::unique(x.words.begin(), x.words.end()), x.words.end());
  }

  void commands(completion& x, const std::string& word) const {
    for (auto& row : command_table())
      add(x, row.name, word);
  }

  const CLI::App& root_;
  const CLI::App* command_ = nullptr;
  const CLI::Option* awaits_ = nullptr; ///< An option whose value is the next word.
  int positionals_ = 0;
  bool after_mark_ = false;
  std::map<std::string, std::string> given_;
};

cli_result<std::set<std::string>> listed(daemon_client& client, const completion& x) {
  auto user = x.given.find("--user");
  auto owner = user != x.given.end() ? user->second : "default";
  auto is_sandbox = x.value == value_of::sandbox;
  message r;
  r.header.set("op", "list");
  auto reply = client.call(std::move(r));
  if (!reply)
    return tl::unexpected{reply.error()};
  std::set<std::string> result;
  for (auto& row : rows_of(*reply)) {
    if (!is_sandbox && x.value != value_of::user && row.text("user") != owner)
      continue;
    auto name = is_sandbox ? "sandbox" : x.value == value_of::user ? "user" : "thread";
    if (auto text = row.text(name))
      result.insert(*text + (x.value == value_of::place ? ":" : ""));
  }
  return result;
}

} // namespace

completion complete(const std::vector<std::string>& words) {
  command_line line;
  given x;
  CLI::App app{"", "corral"};
  describe(app, line, x);
  cursor at{app};
  for (size_t i = 0; i + 1 < words.size(); ++i)
    at.pass(words[i]);
  return at.here(words.empty() ? "" : words.back());
}

bool takes_file(const completion& x) {
  return x.value == value_of::file || x.value == value_of::place;
}

bool asks_daemon(const completion& x) {
  return x.value == value_of::thread || x.value == value_of::sandbox || x.value == value_of::user
         || x.value == value_of::pool || x.value == value_of::place;
}

cli_result<std::vector<std::string>> values_of(daemon_client& client, const completion& x) {
  std::set<std::string> known;
  if (x.value == value_of::pool) {
    for (auto& pool : client.welcome().texts("pools").value_or(std::vector<std::string>{}))
      known.insert(pool);
  } else if (auto names = listed(client, x)) {
    known = std::move(*names);
  } else {
    return tl::unexpected{names.error()};
  }
  std::vector<std::string> result;
  for (auto& word : known)
    if (word.starts_with(x.begun))
      result.push_back(x.prefix + word);
  return result;
}

cli_result<int> print_completion(const completion_options& x) {
  return write_to(stream::out, completion_script(x.shell)).map([] { return int{exit_ok}; });
}

cli_result<int> print_candidates(const complete_options& x, const std::string& default_endpoint) {
  using namespace std::chrono_literals;
  auto found = complete(x.words);
  if (asks_daemon(found)) {
    auto endpoint = found.given.find("--endpoint");
    daemon_client::settings settings{.endpoint = endpoint != found.given.end()
                                                     ? to_endpoint(endpoint->second)
                                                     : default_endpoint,
                                     .hello = 500ms};
    auto client = daemon_client::connect(std::move(settings));
    auto values = client ? values_of(*client, found) : std::vector<std::string>{};
    if (values)
      found.words.insert(found.words.end(), values->begin(), values->end());
  }
  std::string text;
  for (auto& word : found.words)
    text += word + "\n";
  if (takes_file(found))
    text += ":files\n";
  return write_to(stream::out, text).map([] { return int{exit_ok}; });
}

} // namespace corral::cli
