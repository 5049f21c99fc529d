#include "bridge/key_pair.hpp"

#include "messages/wire/fields.hpp"
#include "os/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace corral {

namespace {

constexpr size_t key_size = 40;
using key_text = std::array<char, key_size + 1>;

constexpr std::string_view z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 ".-:+=^!/*?&<>()[]{}@%$#";

tl::unexpected<std::string> no_key(const std::filesystem::path& path, const std::string& why) {
  return tl::unexpected{"key file " + path.native() + ": " + why};
}

} // namespace

key_pair key_pair::make() {
  key_text open{}, secret{};
  ::zmq_curve_keypair(open.data(), secret.data());
  return {open.data(), secret.data()};
}

bool is_curve_key(std::string_view x) {
  std::array<uint8_t, 32> bytes{};
  return x.size() == key_size && x.find_first_not_of(z85) == std::string_view::npos
         && ::zmq_z85_decode(bytes.data(), std::string{x}.c_str()) != nullptr;
}

os_result<void> write_key_file(const std::filesystem::path& path, const key_pair& x) {
  unique_fd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (!fd)
    return last_os_error("create", path.native());
  auto text = fields{}.set("public", x.public_key).set("secret", x.secret_key).dump() + "\n";
  auto result = write_all(fd, text);
  if (result && ::fsync(fd.get()) != 0)
    result = last_os_error("sync", path.native());
  if (!result)
    ::unlink(path.c_str());
  return result;
}

tl::expected<key_pair, std::string> read_key_file(const std::filesystem::path& path) {
  unique_fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat is {};
  if (!fd || ::fstat(fd.get(), &is) != 0)
    return no_key(path, last_os_error("open").value().what + "; corral keygen makes one");
  if (!S_ISREG(is.st_mode))
    return no_key(path, "expected a regular file");
  if ((is.st_mode & 077) != 0)
    return no_key(path, "others than its owner may use it; chmod 600 it");
  if (is.st_uid != ::geteuid() && is.st_uid != 0)
    return no_key(path, "it belongs to another user; chown it to the one who reads it");
  std::array<char, 1024> text{};
  auto size = ::read(fd.get(), text.data(), text.size());
  auto x = fields::parse({text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))});
  key_pair keys;
  if (x)
    keys = {x->text("public").value_or(""), x->text("secret").value_or("")};
  key_text derived{};
  auto is_pair = is_curve_key(keys.public_key) && is_curve_key(keys.secret_key)
                 && ::zmq_curve_public(derived.data(), keys.secret_key.c_str()) == 0
                 && keys.public_key == derived.data();
  if (!is_pair)
    return no_key(path, "expected what corral keygen writes: {\"public\": KEY, \"secret\": KEY}");
  return keys;
}

} // namespace corral
