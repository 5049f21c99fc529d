// Whatever goes wrong, the old content is there and nothing else is.

#include "fixture.hpp"
#include "tests/support/skip.hpp"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>

using namespace corral;
using namespace corral::guest::test;
namespace fs = std::filesystem;

namespace {

using strings = std::vector<std::string>;

/// Files larger than this can't be written while it lives.
class file_size_limit {
public:
  explicit file_size_limit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit x{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &x);
  }
  ~file_size_limit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

private:
  rlimit before_;
};

/// The root of a tmpfs of its own that no path leads to; none without the right to make one.
unique_fd small_file_system(const char* size) {
  unique_fd context{::fsopen("tmpfs", FSOPEN_CLOEXEC)};
  if (!context)
    return {};
  ::fsconfig(context.get(), FSCONFIG_SET_STRING, "size", size, 0);
  ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0);
  return unique_fd{::fsmount(context.get(), FSMOUNT_CLOEXEC, 0)};
}

} // namespace

TEST_CASE_FIXTURE(sandbox, "a payload that fails midway leaves the old content and no other file") {
  for (auto unnamed : {true, false}) {
    sandbox box;
    box.settings.unnamed_temporaries = unnamed;
    box.put("a", "old");
    for (auto append : {true, false}) {
      auto in = std::make_shared<scripted_payload>();
      in->pieces = {"new", std::string(100'000, 'x')};
      in->failure_at_end = error{errc::sandbox_lost, "the link is gone", {}};
      auto x = box.call(op::write_file, fields{}.set("path", "a").set("append", append), in,
                        std::make_shared<recording_writer>());
      CHECK(x.code() == "sandbox_lost");
      CHECK(box.get("a") == "old");
      CHECK(box.names() == strings{"a"});
    }
  }
}

TEST_CASE_FIXTURE(sandbox, "a cancel between two pieces, or after the last, changes nothing") {
  put("a", "old");
  for (int checks : {0, 1, 2, 3, 4}) {
    CAPTURE(checks);
    auto in = std::make_shared<scripted_payload>();
    in->pieces = {"new", "more"};
    auto out = std::make_shared<recording_writer>();
    out->checks_before_cancel = checks;
    CHECK(call(op::write_file, fields{}.set("path", "a"), in, out).code() == "busy");
    CHECK(get("a") == "old");
    CHECK(names() == strings{"a"});
  }
}

TEST_CASE_FIXTURE(sandbox, "the bytes that come must be as many as announced") {
  put("a", "old");
  for (auto& pieces : {strings{"1234"}, strings{"123456"}, strings{"12345", "6"}, strings{}}) {
    auto x = call(op::write_file, fields{}.set("path", "a").set("size", 5), pieces);
    CHECK(x.code() == "invalid_request");
    CHECK(get("a") == "old");
  }
  fields parts;
  parts.set("path", "a");
  parts.set("parts", std::vector<std::pair<std::string, uint64_t>>{{"content", 5}});
  CHECK(call(op::write_file, parts, {"1234"}).code() == "invalid_request");
  CHECK(call(op::write_file, parts, {"12345"}).ok());
  CHECK(call(op::update_file, fields{}.set("path", "a").set("size", 2), {"1", "2"}).ok());
  CHECK(get("a") == "12");
}

TEST_CASE_FIXTURE(sandbox, "a transfer over the limit is refused before its first byte") {
  settings.transfer_max_bytes = 1000;
  auto in = std::make_shared<scripted_payload>();
  in->pieces = {"x"};
  in->before_end = [] { FAIL("the payload was read"); };
  auto x = call(op::write_file, fields{}.set("path", "d/a").set("size", 1001), in,
                std::make_shared<recording_writer>());
  CHECK(x.code() == "file_too_large");
  CHECK(x.details().integer("limit") == 1000);
  CHECK(names().empty());
  CHECK(call(op::write_file, fields{}.set("path", "b"),
             {std::string(600, 'x'), std::string(600, 'x')})
            .code()
        == "file_too_large");
  CHECK(names().empty());
}

TEST_CASE_FIXTURE(sandbox,
                  "a file size limit leaves the old content, in place and at the end too") {
  std::string old(1000, 'o');
  for (auto name : {"replaced", "linked", "appended"})
    put(name, old);
  fs::create_hard_link(at("linked"), at("other"));
  std::string large(150'000, 'n');
  service();
  {
    file_size_limit limit{150'500};
    CHECK(write("appended", large, true).code() == "file_too_large");
  }
  {
    file_size_limit limit{100'000};
    CHECK(write("replaced", large).code() == "file_too_large");
    CHECK(write("linked", large).code() == "file_too_large");
    CHECK(write("new", large).code() == "file_too_large");
  }
  for (auto name : {"replaced", "linked", "appended"})
    CHECK(get(name) == old);
  CHECK(names() == strings{"appended", "linked", "other", "replaced"});
}

TEST_CASE_FIXTURE(sandbox, "as root: a full file system is no_space and leaves the old content"
                               * doctest::skip(corral::test::skip_unless(
                                   static_cast<bool>(small_file_system("64k")), "a full disk",
                                   "only root can mount a small file system"))) {
  // Some pages for content beside what a test puts there.
  auto root = std::make_shared<unique_fd>(small_file_system("256k"));
  settings.mounts.push_back({"/mnt/small", "", true, root});
  std::string old(40'000, 'o');
  CHECK(write("/mnt/small/a", old).ok());
  CHECK(write("/mnt/small/b", old).ok());
  REQUIRE(::linkat(root->get(), "b", root->get(), "b2", 0) == 0);
  auto content_of = [&](const char* name) {
    unique_fd fd{::openat(root->get(), name, O_RDONLY | O_CLOEXEC)};
    std::string result(400'000, '\0');
    result.resize(static_cast<size_t>(::read(fd.get(), result.data(), result.size())));
    return result;
  };
  std::string too_much(300'000, 'n');
  // Room for the new content once, but not beside the old.
  std::string twice_too_much(120'000, 'n');
  CHECK(write("/mnt/small/a", too_much).code() == "no_space");
  CHECK(write("/mnt/small/new", too_much).code() == "no_space");
  CHECK(write("/mnt/small/a", twice_too_much, true).code() == "no_space");
  CHECK(write("/mnt/small/b", twice_too_much).code() == "no_space");
  CHECK(content_of("a") == old);
  CHECK(content_of("b") == old);
  CHECK(::faccessat(root->get(), "new", F_OK, 0) != 0);
  // All that failed gave its space back.
  CHECK(write("/mnt/small/a", std::string(100'000, 'n')).ok());
}

TEST_CASE_FIXTURE(sandbox, "content has no name while it comes in, so a kill leaves nothing") {
  put("a", "old");
  auto in = std::make_shared<scripted_payload>();
  in->pieces = {std::string(100'000, 'n')};
  in->before_end = [&] { CHECK(names() == strings{"a"}); };
  CHECK(call(op::write_file, fields{}.set("path", "a"), in, std::make_shared<recording_writer>())
            .ok());
  CHECK(get("a").size() == 100'000);
}

TEST_CASE_FIXTURE(sandbox,
                  "what appears in the place of a new file meanwhile is replaced or kept") {
  auto in = std::make_shared<scripted_payload>();
  in->pieces = {"new"};
  in->before_end = [&] { put("a", "appeared"); };
  CHECK(call(op::write_file, fields{}.set("path", "a"), in, std::make_shared<recording_writer>())
            .ok());
  CHECK(get("a") == "new");
  auto other = std::make_shared<scripted_payload>();
  other->pieces = {"new"};
  other->before_end = [&] { fs::create_directory(at("b")); };
  CHECK(call(op::write_file, fields{}.set("path", "b"), other, std::make_shared<recording_writer>())
            .code()
        == "is_a_directory");
  CHECK(names() == strings{"a", "b"});
}
