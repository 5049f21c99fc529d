#include "providers/host_claims.hpp"

#include "messages/wire/fields.hpp"
#include "os/files.hpp"
#include "os/random.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <thread>

namespace corral {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// The first 16 digits as a number.
uint64_t number_of(std::string_view hex) {
  uint64_t x = 0;
  std::from_chars(hex.data(), hex.data() + std::min<size_t>(hex.size(), 16), x, 16);
  return x;
}

tl::unexpected<error> failed(const std::string& text) {
  return failure(errc::sandbox_runtime, text, fields{}.set("step", "claim"));
}

} // namespace

result<host_claims> host_claims::open(const std::filesystem::path& data_dir, identity me) {
  auto slot = number_of(random_hex(8));
  auto life = range_lock::try_acquire(data_dir / "owners.lock", slot);
  if (!life)
    return failed(life.error().what);
  if (auto made = make_directory(data_dir / "owners", 0700); !made)
    return failed(made.error().what);
  return host_claims{data_dir, std::move(me), slot, std::move(*life)};
}

result<host_claims::claim> host_claims::lock(const std::string& id,
                                             std::chrono::milliseconds limit) const {
  auto deadline = clock::now() + limit;
  for (auto pause = 1ms;; pause = std::min(2 * pause, 50ms)) {
    auto held = range_lock::try_acquire(file_, number_of(id));
    if (!held && held.error().number != EWOULDBLOCK)
      return failed("the ownership of the sandbox can't be locked");
    if (!held && clock::now() >= deadline)
      return failed("another daemon has been making or ending this sandbox for too long");
    if (!held) {
      std::this_thread::sleep_for(pause);
      continue;
    }
    claim x{*this, id, std::move(*held)};
    auto note = fields::parse(read_small_file(note_of(id), fields::max_bytes).value_or(""));
    if (!note)
      return x;
    holder on_note{{note->text("endpoint").value_or(""), note->text("state_dir").value_or("")},
                   false};
    auto slot = number_of(note->text("daemon").value_or(""));
    on_note.alive = slot != slot_ && range_lock::is_held(file_, slot);
    // An earlier run of ours had the same records: its sandboxes are ours.
    if (on_note.alive || on_note.who.state_dir != me_.state_dir)
      x.other_ = std::move(on_note);
    return x;
  }
}

result<void> host_claims::claim::take() {
  char daemon[17];
  std::snprintf(daemon, sizeof daemon, "%016llx", static_cast<unsigned long long>(all_.slot_));
  fields note;
  note.set("daemon", daemon).set("endpoint", all_.me_.endpoint);
  note.set("state_dir", all_.me_.state_dir);
  // Not synced: no sandbox outlives a power failure.
  if (!replace_file(all_.note_of(id_), note.dump()))
    return failed("the ownership of the sandbox can't be noted");
  other_.reset();
  return {};
}

void host_claims::claim::drop() {
  if (!other_ || !other_->alive)
    ::unlink(all_.note_of(id_).c_str());
}

error moved_to(const host_claims::identity& x) {
  return {errc::moved,
          "another daemon on this machine has this thread's sandbox: connect to " + x.endpoint,
          fields{}.set("endpoint", x.endpoint)};
}

} // namespace corral
