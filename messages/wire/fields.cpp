// nlohmann's parser reads and its serializer writes all that is not plain, but the values live in
// sorted arrays of our own: a header is made, read and copied several times on the way of a
// request, and a tree of maps took twice as long for it.

#include "messages/wire/fields.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <variant>

namespace corral {

using json = nlohmann::json;

/// Sorted by name; no name stands twice.
struct fields::object_value {
  struct member;

  std::vector<member> all;

  std::vector<member>::iterator lower_bound(std::string_view name);
  const value* find(std::string_view name) const;
  value& slot(std::string_view name);
  void sort();
  void write(std::string& out) const;
};

struct fields::value {
  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, std::vector<value>,
               object_value>
      is;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&is);
  }

  /// A whole number of 64 bits with a sign; larger ones stay unsigned.
  std::optional<int64_t> integer() const {
    auto x = as<int64_t>();
    return x ? std::optional{*x} : std::nullopt;
  }

  void write(std::string& out) const;
};

struct fields::object_value::member {
  std::string name;
  value content;
};

namespace {

/// Needs no escape: printable ASCII but quotes and backslashes.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
  });
}

void write_text(std::string& out, const std::string& text) {
  if (is_plain(text))
    out.append("\"").append(text).append("\"");
  else
    out.append(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

template <class Int>
void write_integer(std::string& out, Int x) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
}

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

} // namespace

std::vector<fields::object_value::member>::iterator
fields::object_value::lower_bound(std::string_view name) {
  return std::lower_bound(all.begin(), all.end(), name,
                          [](auto& x, std::string_view n) { return x.name < n; });
}

const fields::value* fields::object_value::find(std::string_view name) const {
  auto i = const_cast<object_value*>(this)->lower_bound(name);
  return i != all.end() && i->name == name ? &i->content : nullptr;
}

fields::value& fields::object_value::slot(std::string_view name) {
  auto i = lower_bound(name);
  if (i == all.end() || i->name != name)
    i = all.insert(i, {std::string{name}, {}});
  return i->content;
}

/// Of members with one name the last is kept.
void fields::object_value::sort() {
  auto before = [](auto& a, auto& b) { return a.name < b.name; };
  if (!std::is_sorted(all.begin(), all.end(), before))
    std::stable_sort(all.begin(), all.end(), before);
  auto same = [](auto& a, auto& b) { return a.name == b.name; };
  if (std::adjacent_find(all.begin(), all.end(), same) == all.end())
    return;
  std::reverse(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  std::reverse(all.begin(), all.end());
}

void fields::value::write(std::string& out) const {
  std::visit(overloaded{
                 [&](std::nullptr_t) { out.append("null"); },
                 [&](bool x) { out.append(x ? "true" : "false"); },
                 [&](int64_t x) { write_integer(out, x); },
                 [&](uint64_t x) { write_integer(out, x); },
                 [&](double x) { out.append(json(x).dump()); },
                 [&](const std::string& x) { write_text(out, x); },
                 [&](const std::vector<value>& list) {
                   out += '[';
                   for (auto& x : list) {
                     if (&x != list.data())
                       out += ',';
                     x.write(out);
                   }
                   out += ']';
                 },
                 [&](const object_value& x) { x.write(out); },
             },
             is);
}

void fields::object_value::write(std::string& out) const {
  out += '{';
  for (auto& x : all) {
    if (&x != all.data())
      out += ',';
    write_text(out, x.name);
    out += ':';
    x.content.write(out);
  }
  out += '}';
}

/// Takes what nlohmann's parser finds. What is nested too deep ends it, because writing and
/// destroying a value recurse.
class fields::reader {
public:
  bool null() { return add({nullptr}); }
  bool boolean(bool x) { return add({x}); }
  bool number_integer(int64_t x) { return add({x}); }
  bool number_unsigned(uint64_t x) {
    if (x <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return add({static_cast<int64_t>(x)});
    return add({x});
  }
  bool number_float(double x, const std::string&) { return add({x}); }
  bool string(std::string& x) { return add({std::move(x)}); }
  bool binary(json::binary_t&) { return false; }
  bool key(std::string& x) {
    std::get<object_value>(open_.back().is).all.push_back({std::move(x), {}});
    return true;
  }
  bool start_object(size_t) {
    object_value x;
    x.all.reserve(usual_members);
    return start({std::move(x)});
  }
  bool start_array(size_t) { return start({std::vector<value>{}}); }
  bool end_object() {
    std::get<object_value>(open_.back().is).sort();
    return end();
  }
  bool end_array() { return end(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

  bool too_deep() const { return too_deep_; }
  value take() { return std::move(root_); }

private:
  static constexpr size_t usual_members = 16;

  bool start(value x) {
    too_deep_ = open_.size() == max_depth;
    if (!too_deep_)
      open_.push_back(std::move(x));
    return !too_deep_;
  }

  bool end() {
    auto whole = std::move(open_.back());
    open_.pop_back();
    return add(std::move(whole));
  }

  bool add(value x) {
    if (open_.empty())
      root_ = std::move(x);
    else if (auto list = std::get_if<std::vector<value>>(&open_.back().is))
      list->push_back(std::move(x));
    else
      std::get<object_value>(open_.back().is).all.back().content = std::move(x);
    return true;
  }

  value root_;
  std::vector<value> open_; // What has begun and not ended, outermost first.
  bool too_deep_ = false;
};

fields::fields() = default;
fields::fields(object_value&& members)
    : members_{std::make_unique<object_value>(std::move(members))} {}
fields::fields(const fields& other)
    : members_{other.members_ ? std::make_unique<object_value>(*other.members_) : nullptr} {}
fields::fields(fields&& other) noexcept = default;
fields& fields::operator=(const fields& other) {
  if (this != &other)
    members_ = other.members_ ? std::make_unique<object_value>(*other.members_) : nullptr;
  return *this;
}
fields& fields::operator=(fields&& other) noexcept = default;
fields::~fields() = default;

tl::expected<fields, std::string> fields::parse(std::string_view text, size_t limit) {
  if (text.size() > limit)
    return tl::unexpected{"larger than " + std::to_string(limit) + " bytes"};
  reader found;
  auto valid = json::sax_parse(text.begin(), text.end(), &found);
  if (found.too_deep())
    return tl::unexpected{"nested deeper than " + std::to_string(max_depth) + " levels"};
  if (!valid)
    return tl::unexpected{std::string{"not valid JSON in UTF-8"}};
  auto whole = found.take();
  if (auto members = std::get_if<object_value>(&whole.is))
    return fields{std::move(*members)};
  return tl::unexpected{std::string{"not a JSON object"}};
}

std::string fields::dump() const {
  if (!members_)
    return "{}";
  constexpr size_t usual = 256;
  std::string result;
  result.reserve(usual);
  members_->write(result);
  return result;
}

bool fields::empty() const {
  return !members_ || members_->all.empty();
}

const fields::value* fields::find(std::string_view name) const {
  return members_ ? members_->find(name) : nullptr;
}

fields::value& fields::slot(std::string_view name) {
  if (!members_)
    members_ = std::make_unique<object_value>();
  return members_->slot(name);
}

bool fields::has(std::string_view name) const {
  return find(name) != nullptr;
}

bool fields::is_null(std::string_view name) const {
  auto x = find(name);
  return x && x->as<std::nullptr_t>();
}

std::vector<std::string> fields::names() const {
  std::vector<std::string> result;
  if (members_)
    for (auto& x : members_->all)
      result.push_back(x.name);
  return result;
}

std::optional<std::string> fields::text(std::string_view name) const {
  auto x = find(name);
  auto text = x ? x->as<std::string>() : nullptr;
  return text ? std::optional{*text} : std::nullopt;
}

std::optional<int64_t> fields::integer(std::string_view name) const {
  auto x = find(name);
  return x ? x->integer() : std::nullopt;
}

std::optional<double> fields::number(std::string_view name) const {
  auto x = find(name);
  if (!x)
    return std::nullopt;
  if (auto whole = x->as<int64_t>())
    return static_cast<double>(*whole);
  if (auto large = x->as<uint64_t>())
    return static_cast<double>(*large);
  auto number = x->as<double>();
  return number ? std::optional{*number} : std::nullopt;
}

std::optional<bool> fields::flag(std::string_view name) const {
  auto x = find(name);
  auto flag = x ? x->as<bool>() : nullptr;
  return flag ? std::optional{*flag} : std::nullopt;
}

std::optional<fields> fields::object(std::string_view name) const {
  auto x = find(name);
  auto members = x ? x->as<object_value>() : nullptr;
  return members ? std::optional{fields{object_value{*members}}} : std::nullopt;
}

std::optional<std::vector<std::string>> fields::texts(std::string_view name) const {
  auto x = find(name);
  auto list = x ? x->as<std::vector<value>>() : nullptr;
  if (!list)
    return std::nullopt;
  std::vector<std::string> result;
  for (auto& e : *list) {
    auto text = e.as<std::string>();
    if (!text)
      return std::nullopt;
    result.push_back(*text);
  }
  return result;
}

std::optional<std::vector<std::pair<std::string, uint64_t>>>
fields::sizes(std::string_view name) const {
  auto x = find(name);
  auto list = x ? x->as<std::vector<value>>() : nullptr;
  if (!list)
    return std::nullopt;
  std::vector<std::pair<std::string, uint64_t>> result;
  for (auto& e : *list) {
    auto pair = e.as<std::vector<value>>();
    auto part = pair && pair->size() == 2 ? (*pair)[0].as<std::string>() : nullptr;
    auto size = part ? (*pair)[1].integer() : std::nullopt;
    if (!size || *size < 0)
      return std::nullopt;
    result.emplace_back(*part, static_cast<uint64_t>(*size));
  }
  return result;
}

fields& fields::set(std::string_view name, std::string_view x) {
  slot(name).is = std::string{x};
  return *this;
}

fields& fields::set_flag(std::string_view name, bool x) {
  slot(name).is = x;
  return *this;
}

fields& fields::set_integer(std::string_view name, int64_t x) {
  slot(name).is = x;
  return *this;
}

fields& fields::set(std::string_view name, double x) {
  slot(name).is = x;
  return *this;
}

fields& fields::set(std::string_view name, std::nullptr_t) {
  slot(name).is = nullptr;
  return *this;
}

fields& fields::set(std::string_view name, const fields& x) {
  auto members = x.members_ ? *x.members_ : object_value{}; // First: it may be these fields.
  slot(name).is = std::move(members);
  return *this;
}

fields& fields::set(std::string_view name, const std::vector<std::string>& x) {
  std::vector<value> list;
  for (auto& text : x)
    list.push_back({text});
  slot(name).is = std::move(list);
  return *this;
}

fields& fields::set(std::string_view name, const std::vector<std::pair<std::string, uint64_t>>& x) {
  std::vector<value> list;
  for (auto& [part, size] : x)
    list.push_back({std::vector<value>{{part}, {static_cast<int64_t>(size)}}});
  slot(name).is = std::move(list);
  return *this;
}

fields& fields::set(std::string_view name, const std::vector<fields>& x) {
  std::vector<value> list;
  for (auto& object : x)
    list.push_back({object.members_ ? *object.members_ : object_value{}});
  slot(name).is = std::move(list);
  return *this;
}

fields& fields::erase(std::string_view name) {
  if (!members_)
    return *this;
  auto i = members_->lower_bound(name);
  if (i != members_->all.end() && i->name == name)
    members_->all.erase(i);
  return *this;
}

fields& fields::merge(const fields& other) {
  if (other.members_ && &other != this)
    for (auto& x : other.members_->all)
      slot(x.name) = x.content;
  return *this;
}

} // namespace corral
