#include "guest/files/ignore_list.hpp"

#include <algorithm>
#include <array>

namespace corral::guest {

namespace {

constexpr std::string_view names[] = {
    ".git",        ".svn",        ".hg",           ".bzr",      "node_modules", "__pycache__",
    ".venv",       "venv",        ".env",          "env",       ".tox",         ".nox",
    ".eggs",       "dist",        "site-packages", "build",     ".next",        ".nuxt",
    ".output",     ".turbo",      "target",        "out",       ".idea",        ".vscode",
    ".project",    ".classpath",  ".settings",     ".DS_Store", "Thumbs.db",    "desktop.ini",
    ".cache",      "logs",        ".coverage",     "coverage",  ".nyc_output",  ".pytest_cache",
    ".mypy_cache", ".ruff_cache", "htmlcov",
};

constexpr std::string_view endings[] = {".egg-info", ".swp", ".swo",  "~",    ".lnk",
                                        ".log",      ".tmp", ".temp", ".bak", ".cache"};

} // namespace

bool is_ignored_name(std::string_view name) {
  if (std::find(std::begin(names), std::end(names), name) != std::end(names))
    return true;
  if (name.starts_with(".upload-") && name.ends_with(".part"))
    return true;
  return std::any_of(std::begin(endings), std::end(endings),
                     [&](auto ending) { return name.ends_with(ending); });
}

} // namespace corral::guest
