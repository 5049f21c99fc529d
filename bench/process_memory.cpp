#include "bench/process_memory.hpp"

#include "config/units.hpp"
#include "os/files.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

namespace corral::bench {

namespace {

namespace fs = std::filesystem;

/// The figure of a line "Name:   123 kB" in bytes.
uint64_t figure(const std::string& text, std::string_view name) {
  auto at = text.find(std::string{"\n"}.append(name).append(":"));
  if (at == std::string::npos)
    return 0;
  auto begin = text.find_first_of("0123456789", at);
  auto end = text.find(' ', begin);
  return parse_whole_number(std::string_view{text}.substr(begin, end - begin)).value_or(0) * 1024;
}

std::string proc_text(pid_t pid, const char* name) {
  return read_small_file(fs::path{"/proc"} / std::to_string(pid) / name).value_or("");
}

std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> result;
  for (auto& entry : fs::directory_iterator{"/proc"}) {
    auto pid = parse_whole_number(entry.path().filename().native());
    if (!pid)
      continue;
    auto text = proc_text(static_cast<pid_t>(*pid), "stat");
    auto after_name = text.rfind(") ");
    if (after_name == std::string::npos)
      continue;
    auto parent = text.substr(after_name + 4, text.find(' ', after_name + 4) - after_name - 4);
    result.emplace(static_cast<pid_t>(parse_whole_number(parent).value_or(0)),
                   static_cast<pid_t>(*pid));
  }
  return result;
}

/// Of the process and all below it, but for bubblewrap.
uint64_t tree_bytes(pid_t pid, const std::multimap<pid_t, pid_t>& children) {
  auto sum = proc_text(pid, "comm") == "bwrap\n" ? 0 : proportional_bytes(pid);
  auto [first, last] = children.equal_range(pid);
  for (auto i = first; i != last; ++i)
    sum += tree_bytes(i->second, children);
  return sum;
}

} // namespace

uint64_t resident_bytes(pid_t pid) {
  return figure(proc_text(pid, "status"), "VmRSS");
}

uint64_t proportional_bytes(pid_t pid) {
  auto rollup = proc_text(pid, "smaps_rollup");
  return rollup.empty() ? resident_bytes(pid) : figure(rollup, "Pss");
}

std::vector<uint64_t> sandbox_bytes(pid_t daemon) {
  auto children = children_by_parent();
  std::vector<uint64_t> result;
  auto [first, last] = children.equal_range(daemon);
  for (auto i = first; i != last; ++i)
    if (auto bytes = tree_bytes(i->second, children); bytes > 0)
      result.push_back(bytes);
  return result;
}

} // namespace corral::bench
