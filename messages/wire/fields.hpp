#pragma once

#include <tl/expected.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral {

/// A JSON object with typed access: the small fields of one message.
class fields {
public:
  static constexpr size_t max_bytes = 64 * 1024;
  static constexpr size_t max_depth = 16;

  fields();
  fields(const fields& other);
  fields(fields&& other) noexcept;
  fields& operator=(const fields& other);
  fields& operator=(fields&& other) noexcept;
  ~fields();

  /// Reads one object of at most `limit` bytes (the wire's `max_bytes` unless told), nested at most
  /// `max_depth` deep; else says in a few words what is wrong.
  static tl::expected<fields, std::string> parse(std::string_view json, size_t limit = max_bytes);

  /// Compact JSON with sorted names; bytes that are not UTF-8 become U+FFFD.
  std::string dump() const;

  bool empty() const;
  bool has(std::string_view name) const;
  bool is_null(std::string_view name) const;
  std::vector<std::string> names() const;

  // Each of these has a value only if the field is there and of that very type.
  std::optional<std::string> text(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<bool> flag(std::string_view name) const;
  std::optional<fields> object(std::string_view name) const;
  std::optional<std::vector<std::string>> texts(std::string_view name) const;
  /// An array of [name, number] pairs, as `parts` has them.
  std::optional<std::vector<std::pair<std::string, uint64_t>>> sizes(std::string_view name) const;

  fields& set(std::string_view name, std::string_view value);
  fields& set(std::string_view name, const char* value) {
    return set(name, std::string_view{value});
  }
  fields& set(std::string_view name, std::same_as<bool> auto value) {
    return set_flag(name, value);
  }
  fields& set(std::string_view name,
              std::integral auto value) requires(!std::same_as<decltype(value), bool>) {
    return set_integer(name, static_cast<int64_t>(value));
  }
  fields& set(std::string_view name, double value);
  fields& set(std::string_view name, std::nullptr_t);
  fields& set(std::string_view name, const fields& value);
  fields& set(std::string_view name, const std::vector<std::string>& value);
  fields& set(std::string_view name, const std::vector<std::pair<std::string, uint64_t>>& value);
  fields& set(std::string_view name, const std::vector<fields>& value);
  fields& erase(std::string_view name);

  /// Takes every field of `other`, over ones of the same name.
  fields& merge(const fields& other);

  friend bool operator==(const fields& a, const fields& b) { return a.dump() == b.dump(); }

private:
  struct value;
  struct object_value;
  class reader;

  explicit fields(object_value&& members);
  const value* find(std::string_view name) const;
  value& slot(std::string_view name);
  fields& set_flag(std::string_view name, bool value);
  fields& set_integer(std::string_view name, int64_t value);

  std::unique_ptr<object_value> members_; // Null while there are no fields.
};

} // namespace corral
