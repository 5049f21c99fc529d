#include "messages/wire/fields.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace corral {

using json = nlohmann::json;

namespace {

/// True if brackets nest deeper than `limit`. Counts outside strings only, before the parser runs,
/// because writing and destroying a value recurse.
bool nests_deeper_than(std::string_view text, size_t limit) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    auto c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > limit)
        return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

bool is_int64(const json& x) {
  return x.is_number_integer()
         && (!x.is_number_unsigned()
             || x.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
}

} // namespace

fields::fields() = default;
fields::fields(json&& value) : value_{std::make_unique<json>(std::move(value))} {}
fields::fields(const fields& other)
    : value_{other.value_ ? std::make_unique<json>(*other.value_) : nullptr} {}
fields::fields(fields&& other) noexcept = default;
fields& fields::operator=(const fields& other) {
  if (this != &other)
    value_ = other.value_ ? std::make_unique<json>(*other.value_) : nullptr;
  return *this;
}
fields& fields::operator=(fields&& other) noexcept = default;
fields::~fields() = default;

tl::expected<fields, std::string> fields::parse(std::string_view text, size_t limit) {
  if (text.size() > limit)
    return tl::unexpected{"larger than " + std::to_string(limit) + " bytes"};
  if (nests_deeper_than(text, max_depth))
    return tl::unexpected{"nested deeper than " + std::to_string(max_depth) + " levels"};
  auto value = json::parse(text.begin(), text.end(), nullptr, false);
  if (value.is_discarded())
    return tl::unexpected{std::string{"not valid JSON in UTF-8"}};
  if (!value.is_object())
    return tl::unexpected{std::string{"not a JSON object"}};
  return fields{std::move(value)};
}

std::string fields::dump() const {
  return value_ ? value_->dump(-1, ' ', false, json::error_handler_t::replace) : "{}";
}

bool fields::empty() const {
  return !value_ || value_->empty();
}

const json* fields::find(std::string_view name) const {
  if (!value_)
    return nullptr;
  auto i = value_->find(name);
  return i != value_->end() ? &*i : nullptr;
}

json& fields::slot(std::string_view name) {
  if (!value_)
    value_ = std::make_unique<json>(json::object());
  return (*value_)[std::string{name}];
}

bool fields::has(std::string_view name) const {
  return find(name) != nullptr;
}

bool fields::is_null(std::string_view name) const {
  auto x = find(name);
  return x && x->is_null();
}

std::vector<std::string> fields::names() const {
  std::vector<std::string> result;
  if (value_)
    for (auto& [name, ignored] : value_->items())
      result.push_back(name);
  return result;
}

std::optional<std::string> fields::text(std::string_view name) const {
  auto x = find(name);
  return x && x->is_string() ? std::optional{x->get<std::string>()} : std::nullopt;
}

std::optional<int64_t> fields::integer(std::string_view name) const {
  auto x = find(name);
  return x && is_int64(*x) ? std::optional{x->get<int64_t>()} : std::nullopt;
}

std::optional<double> fields::number(std::string_view name) const {
  auto x = find(name);
  return x && x->is_number() ? std::optional{x->get<double>()} : std::nullopt;
}

std::optional<bool> fields::flag(std::string_view name) const {
  auto x = find(name);
  return x && x->is_boolean() ? std::optional{x->get<bool>()} : std::nullopt;
}

std::optional<fields> fields::object(std::string_view name) const {
  auto x = find(name);
  // Parentheses: in braces nlohmann makes an array of one element of it.
  return x && x->is_object() ? std::optional{fields{json(*x)}} : std::nullopt;
}

std::optional<std::vector<std::string>> fields::texts(std::string_view name) const {
  auto x = find(name);
  if (!x || !x->is_array()
      || !std::all_of(x->begin(), x->end(), [](auto& e) { return e.is_string(); }))
    return std::nullopt;
  return x->get<std::vector<std::string>>();
}

std::optional<std::vector<std::pair<std::string, uint64_t>>>
fields::sizes(std::string_view name) const {
  auto x = find(name);
  if (!x || !x->is_array())
    return std::nullopt;
  std::vector<std::pair<std::string, uint64_t>> result;
  for (auto& e : *x) {
    if (!e.is_array() || e.size() != 2 || !e[0].is_string() || !is_int64(e[1])
        || e[1].get<int64_t>() < 0)
      return std::nullopt;
    result.emplace_back(e[0].get<std::string>(), e[1].get<uint64_t>());
  }
  return result;
}

fields& fields::set(std::string_view name, std::string_view value) {
  slot(name) = value;
  return *this;
}

fields& fields::set_flag(std::string_view name, bool value) {
  slot(name) = value;
  return *this;
}

fields& fields::set_integer(std::string_view name, int64_t value) {
  slot(name) = value;
  return *this;
}

fields& fields::set(std::string_view name, double value) {
  slot(name) = value;
  return *this;
}

fields& fields::set(std::string_view name, std::nullptr_t) {
  slot(name) = nullptr;
  return *this;
}

fields& fields::set(std::string_view name, const fields& value) {
  slot(name) = value.value_ ? *value.value_ : json::object();
  return *this;
}

fields& fields::set(std::string_view name, const std::vector<std::string>& value) {
  slot(name) = value;
  return *this;
}

fields& fields::set(std::string_view name,
                    const std::vector<std::pair<std::string, uint64_t>>& value) {
  auto list = json::array();
  for (auto& [part, size] : value)
    list.push_back(json::array({part, size}));
  slot(name) = std::move(list);
  return *this;
}

fields& fields::set(std::string_view name, const std::vector<fields>& value) {
  auto list = json::array();
  for (auto& x : value)
    list.push_back(x.value_ ? *x.value_ : json::object());
  slot(name) = std::move(list);
  return *this;
}

fields& fields::erase(std::string_view name) {
  if (value_)
    value_->erase(std::string{name});
  return *this;
}

fields& fields::merge(const fields& other) {
  if (!other.value_)
    return *this;
  for (auto& [name, value] : other.value_->items())
    slot(name) = value;
  return *this;
}

} // namespace corral
