#include "config/yaml_node.hpp"

#include "config/utf8.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

namespace corral {

namespace {

/// Stops yaml-cpp in the middle of a document; an exception is the only way to.
struct refusal {
  unsigned line;
  std::string message;
};

unsigned line_of(const YAML::Mark& mark) {
  return static_cast<unsigned>(mark.line) + 1;
}

/// Builds the tree from yaml-cpp's events, which come before any of its own trees exist.
class tree_builder final : public YAML::EventHandler {
public:
  explicit tree_builder(std::string file) : file_{std::move(file)} {}

  yaml_node root;
  config_errors errors;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchors(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchors(mark); }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    add({.type = yaml_node::kind::null, .line = line_of(mark)});
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    check_tag(mark, tag);
    if (auto bad = std::find_if(value.begin(), value.end(), is_control); bad != value.end())
      throw refusal{line_of(mark), "expected text without control characters"};
    add(yaml_node::scalar(value, line_of(mark)));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, yaml_node::kind::list);
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, yaml_node::kind::mapping);
  }

  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

private:
  struct level {
    yaml_node node;
    std::optional<yaml_node> key;          // Set while a mapping waits for the key's value.
    std::map<std::string, unsigned> lines; // Of the keys so far.
  };

  static bool is_control(char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
  }

  [[noreturn]] static void refuse_anchors(const YAML::Mark& mark) {
    throw refusal{line_of(mark), "anchors and aliases are not supported; write the value out"};
  }

  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!")
      throw refusal{line_of(mark),
                    "expected a value without a tag, found " + quoted_for_message(tag)};
  }

  void open(const YAML::Mark& mark, const std::string& tag, yaml_node::kind type) {
    check_tag(mark, tag);
    if (open_.size() == max_yaml_depth)
      throw refusal{line_of(mark),
                    "expected at most " + std::to_string(max_yaml_depth) + " levels of nesting"};
    open_.push_back({{.type = type, .line = line_of(mark)}, {}, {}});
  }

  void close() {
    auto done = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(done));
  }

  void add(yaml_node x) {
    if (open_.empty())
      root = std::move(x);
    else if (auto& top = open_.back(); top.node.type == yaml_node::kind::list)
      top.node.items.push_back(std::move(x));
    else if (top.key)
      add_entry(top, std::move(x));
    else if (x.type != yaml_node::kind::scalar)
      throw refusal{x.line, "expected a name as key, found " + describe(x)};
    else
      top.key = std::move(x);
  }

  void add_entry(level& top, yaml_node x) {
    auto [first, is_new] = top.lines.try_emplace(top.key->text, top.key->line);
    if (!is_new) {
      errors.push_back({file_, top.key->line, "",
                        "expected each key once, found " + quoted_for_message(top.key->text)
                            + " again (first in line " + std::to_string(first->second) + ")"});
    } else {
      x.line = top.key->line;
      top.node.keys.push_back(std::move(top.key->text));
      top.node.items.push_back(std::move(x));
    }
    top.key.reset();
  }

  std::string file_;
  std::vector<level> open_;
};

/// The first thing that makes `text` no text, before yaml-cpp guesses an encoding.
std::optional<config_error> check_text(const std::string& text, const std::string& file) {
  if (text.size() > max_yaml_bytes)
    return config_error{file, 0, "",
                        "expected at most " + std::to_string(max_yaml_bytes) + " bytes"};
  if (auto bad = first_non_text(text); bad != text.size()) {
    auto end = text.begin() + static_cast<std::ptrdiff_t>(bad);
    auto line = static_cast<unsigned>(std::count(text.begin(), end, '\n')) + 1;
    return config_error{file, line, "",
                        "expected UTF-8 text, found the byte "
                            + quoted_for_message({&text[bad], 1})};
  }
  return std::nullopt;
}

void parse_into(tree_builder& builder, const std::string& text) {
  std::istringstream in{text};
  YAML::Parser parser{in};
  parser.HandleNextDocument(builder);
  tree_builder second{{}};
  if (parser.HandleNextDocument(second))
    throw refusal{0, "expected a single YAML document"};
}

} // namespace

yaml_node yaml_node::scalar(std::string_view text, unsigned line) {
  return {.type = kind::scalar, .line = line, .text = std::string{text}};
}

tl::expected<yaml_node, config_errors> parse_yaml(const std::string& text,
                                                  const std::string& file) {
  if (auto bad = check_text(text, file))
    return tl::unexpected{config_errors{*bad}};
  tree_builder builder{file};
  try {
    parse_into(builder, text);
  } catch (const refusal& x) {
    builder.errors.push_back({file, x.line, "", x.message});
  } catch (const YAML::Exception& x) {
    builder.errors.push_back({file, line_of(x.mark), "", "not YAML: " + x.msg});
  }
  if (!builder.errors.empty())
    return tl::unexpected{std::move(builder.errors)};
  return std::move(builder.root);
}

std::string describe(const yaml_node& x) {
  switch (x.type) {
  case yaml_node::kind::null:
    return "nothing";
  case yaml_node::kind::list:
    return "a list";
  case yaml_node::kind::mapping:
    return "a mapping";
  case yaml_node::kind::scalar:
    break;
  }
  return x.reference.empty() ? quoted_for_message(x.text) : "the value of " + x.reference;
}

} // namespace corral
