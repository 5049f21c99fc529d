#include "fixture.hpp"

#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace corral::guest::test {

namespace fs = std::filesystem;

result<blob> scripted_payload::next() {
  if (given_ < pieces.size())
    return blob::copy_of(pieces[given_++]);
  if (before_end)
    std::exchange(before_end, nullptr)();
  if (failure_at_end)
    return tl::unexpected{*failure_at_end};
  return blob{};
}

std::string reply::code() const {
  return header.object("error").value_or(fields{}).text("code").value_or("");
}

std::string reply::message() const {
  return header.object("error").value_or(fields{}).text("message").value_or("");
}

fields reply::details() const {
  return header.object("error").value_or(fields{}).object("details").value_or(fields{});
}

std::vector<fields> reply::lines() const {
  std::vector<fields> result;
  std::istringstream all{content};
  for (std::string line; std::getline(all, line);)
    result.push_back(fields::parse(line).value());
  return result;
}

std::vector<std::string> reply::paths() const {
  std::vector<std::string> result;
  for (auto& x : lines())
    result.push_back(x.text("path").value());
  return result;
}

void recording_writer::finish(corral::message x) {
  std::lock_guard lock{mutex_};
  reply_.header = x.header;
  reply_.content = x.encode_payload().view();
  settle();
}

void recording_writer::begin(const fields& header, uint64_t total) {
  std::lock_guard lock{mutex_};
  CHECK(header.flag("ok") == true);
  CHECK(stated_total(header) == total);
  reply_.header = header;
  promised_ = total;
}

result<void> recording_writer::write(blob piece) {
  if (on_write)
    on_write();
  std::lock_guard lock{mutex_};
  CHECK(reply_.content.size() + piece.size() <= promised_);
  reply_.content += piece.view();
  return {};
}

void recording_writer::end(const fields& trailer) {
  std::lock_guard lock{mutex_};
  CHECK(reply_.content.size() == promised_);
  reply_.header.merge(trailer);
  settle();
}

bool recording_writer::cancelled() const {
  return checks_before_cancel && checks_++ >= *checks_before_cancel;
}

void recording_writer::settle() {
  ++answers_;
  done_.notify_all();
}

reply recording_writer::wait() {
  std::unique_lock lock{mutex_};
  auto answered = done_.wait_for(lock, std::chrono::seconds{60}, [&] { return answers_ > 0; });
  REQUIRE(answered);
  CHECK(answers_ == 1);
  return reply_;
}

sandbox::sandbox() {
  for (auto name : {"workspace", "uploads", "outputs", "skills", "outside"})
    fs::create_directory(beside(name));
  settings.mounts = {{"/mnt/user-data/workspace", beside("workspace"), true, nullptr},
                     {"/mnt/user-data/uploads", beside("uploads"), true, nullptr},
                     {"/mnt/user-data/outputs", beside("outputs"), true, nullptr},
                     {"/mnt/skills", beside("skills"), false, nullptr}};
}

file_service& sandbox::service() {
  if (!service_)
    service_ = std::make_unique<file_service>(settings);
  return *service_;
}

reply sandbox::call(op id, const fields& header, std::vector<std::string> payload) {
  auto in = std::make_shared<scripted_payload>();
  in->pieces = std::move(payload);
  return call(id, header, in, std::make_shared<recording_writer>());
}

reply sandbox::call(op id, const fields& header, std::shared_ptr<scripted_payload> in,
                    std::shared_ptr<recording_writer> out) {
  service().submit(spec_of(id), header, in, out);
  return out->wait();
}

reply sandbox::read(const std::string& path) {
  return call(op::read_file, fields{}.set("path", path));
}

reply sandbox::write(const std::string& path, const std::string& content, bool append) {
  return call(op::write_file, fields{}.set("path", path).set("append", append), {content});
}

reply sandbox::replace(const std::string& path, const std::string& old, const std::string& now,
                       bool all) {
  fields header;
  header.set("path", path).set("replace_all", all);
  header.set("parts", std::vector<std::pair<std::string, uint64_t>>{{"old", old.size()},
                                                                    {"new", now.size()}});
  return call(op::str_replace, header, {old + now});
}

reply sandbox::list(const std::string& path, fields more) {
  return call(op::list_dir, more.set("path", path));
}

reply sandbox::glob(const std::string& path, const std::string& pattern, fields more) {
  return call(op::glob, more.set("path", path).set("pattern", pattern));
}

reply sandbox::grep(const std::string& path, const std::string& pattern, fields more) {
  return call(op::grep, more.set("path", path).set("pattern", pattern));
}

void sandbox::put(const std::string& path, const std::string& content) const {
  put_file(at(path), content);
}

std::string sandbox::get(const std::string& path) const {
  return get_file(at(path));
}

std::vector<std::string> sandbox::names() const {
  std::vector<std::string> result;
  for (auto& x : fs::recursive_directory_iterator{at("")})
    result.push_back(fs::relative(x.path(), at("")));
  std::sort(result.begin(), result.end());
  return result;
}

// The raw call, because the C library's would change all threads.
as_ordinary_user::as_ordinary_user(const fs::path& directory) : was_root_{is_root()} {
  constexpr uid_t user = 4242;
  if (!was_root_)
    return;
  REQUIRE(::lchown(directory.c_str(), user, 0) == 0);
  for (auto& x : fs::recursive_directory_iterator{directory})
    REQUIRE(::lchown(x.path().c_str(), user, 0) == 0);
  REQUIRE(::syscall(SYS_setresuid, -1, user, -1) == 0);
}

as_ordinary_user::~as_ordinary_user() {
  if (was_root_)
    ::syscall(SYS_setresuid, -1, 0, -1);
}

void put_file(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream{path, std::ios::binary} << content;
}

std::string get_file(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace corral::guest::test
