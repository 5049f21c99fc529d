#include "apps/daemon_log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>

namespace corral {

namespace {

/// A value that stays on its line and does nothing to a terminal, whatever a client has called
/// itself.
std::string printable(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (auto c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f)
      result += c;
    else
      result.append("\\x").append({digits[byte >> 4], digits[byte & 15]});
  }
  return result;
}

/// Writes each message as one JSON object; a message that is an object itself is merged into it.
class json_formatter : public spdlog::formatter {
public:
  void format(const spdlog::details::log_msg& msg, spdlog::memory_buf_t& out) override {
    std::string_view text{msg.payload.data(), msg.payload.size()};
    auto line = fields::parse(text).value_or(fields{}.set("message", text));
    auto since = msg.time.time_since_epoch();
    line.set("time_ms", std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
    auto level = spdlog::level::to_string_view(msg.level);
    line.set("level", std::string_view{level.data(), level.size()});
    auto whole = line.dump();
    out.append(whole.data(), whole.data() + whole.size());
    out.push_back('\n');
  }

  std::unique_ptr<formatter> clone() const override { return std::make_unique<json_formatter>(); }
};

bool writes_json = false;

spdlog::level::level_enum level_of(log_level x) {
  switch (x) {
  case log_level::trace:
    return spdlog::level::trace;
  case log_level::debug:
    return spdlog::level::debug;
  case log_level::info:
    return spdlog::level::info;
  case log_level::warn:
    return spdlog::level::warn;
  case log_level::error:
    return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::level::level_enum level_of(std::string_view event) {
  static constexpr std::string_view unusual[] = {"lost",  "failed",           "destroy_failed",
                                                 "burst", "client forgotten", "exception"};
  static constexpr std::string_view of_each_request[] = {"acquired", "released", "gone"};
  auto is_one_of = [&](auto& list) {
    return std::find(std::begin(list), std::end(list), event) != std::end(list);
  };
  if (is_one_of(of_each_request))
    return spdlog::level::debug;
  return is_one_of(unusual) ? spdlog::level::warn : spdlog::level::info;
}

} // namespace

void start_log(log_level level, log_format format) {
  auto logger = spdlog::stderr_color_mt("corrald");
  writes_json = format == log_format::json;
  if (writes_json)
    logger->set_formatter(std::make_unique<json_formatter>());
  else
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  logger->set_level(level_of(level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(logger);
}

void set_log_level(log_level level) {
  spdlog::default_logger()->set_level(level_of(level));
}

void log_event(std::string_view event, const fields& about) {
  auto level = level_of(event);
  if (!spdlog::should_log(level))
    return;
  if (writes_json) {
    auto line = about;
    spdlog::log(level, "{}", line.set("event", event).dump());
    return;
  }
  std::string line{event};
  for (auto& name : about.names()) {
    auto value = about.text(name);
    auto number = about.integer(name);
    if (value || number)
      line.append(" ").append(name).append("=").append(value ? printable(*value)
                                                             : std::to_string(*number));
  }
  spdlog::log(level, "{}", line);
}

} // namespace corral
