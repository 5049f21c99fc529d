#include "fixture.hpp"

#include <future>

using namespace corral;
using namespace corral::guest;
using namespace corral::guest::test;

namespace {

/// A payload that ends when it is told to.
class held_payload : public payload_reader {
public:
  explicit held_payload(std::string content) : content_{std::move(content)} {}

  std::promise<void> go;
  std::promise<void> started;

  result<blob> next() override {
    if (content_.empty())
      return blob{};
    started.set_value();
    go.get_future().wait();
    return blob::take(std::exchange(content_, {}));
  }

private:
  std::string content_;
};

std::shared_ptr<scripted_payload> payload(std::string content) {
  auto x = std::make_shared<scripted_payload>();
  x->pieces = {std::move(content)};
  return x;
}

} // namespace

TEST_CASE_FIXTURE(sandbox, "changes of one path follow one another in the order submitted") {
  auto held = std::make_shared<held_payload>("1");
  std::vector<std::shared_ptr<recording_writer>> outs;
  auto submit = [&](const std::string& path, bool append, std::shared_ptr<payload_reader> in) {
    outs.push_back(std::make_shared<recording_writer>());
    service().submit(spec_of(op::write_file), fields{}.set("path", path).set("append", append), in,
                     outs.back());
  };
  submit("a", false, held);
  held->started.get_future().wait();
  submit("./x/../a", true, payload("2"));
  submit("/mnt/user-data/workspace/a", true, payload("3"));
  submit("a", true, payload("4"));
  // Another path, and reading this one, wait for nothing.
  CHECK(write("b", "other").ok());
  CHECK(read("a").code() == "file_not_found");
  held->go.set_value();
  for (auto& x : outs)
    CHECK(x->wait().ok());
  CHECK(get("a") == "1234");
}

TEST_CASE_FIXTURE(sandbox, "many writers of one file lose nothing") {
  std::vector<std::shared_ptr<recording_writer>> outs;
  for (int i = 0; i < 64; ++i) {
    outs.push_back(std::make_shared<recording_writer>());
    service().submit(spec_of(op::write_file), fields{}.set("path", "log").set("append", true),
                     payload("x"), outs.back());
  }
  for (auto& x : outs)
    CHECK(x->wait().ok());
  CHECK(get("log") == std::string(64, 'x'));
}

TEST_CASE_FIXTURE(sandbox, "what is under way is answered before the service is gone") {
  std::vector<std::shared_ptr<recording_writer>> outs;
  {
    file_service short_lived{settings};
    for (int i = 0; i < 20; ++i) {
      outs.push_back(std::make_shared<recording_writer>());
      short_lived.submit(spec_of(op::write_file), fields{}.set("path", "f" + std::to_string(i % 3)),
                         payload("x"), outs.back());
    }
  }
  for (auto& x : outs) {
    CHECK(x->answers() == 1);
    CHECK(x->wait().ok());
  }
}

TEST_CASE_FIXTURE(sandbox,
                  "a request that lacks its fields or is no file operation is answered too") {
  CHECK(call(op::read_file, fields{}).code() == "invalid_request");
  CHECK(call(op::read_file, fields{}.set("path", "")).code() == "invalid_request");
  CHECK(call(op::read_file, fields{}.set("path", std::string(5000, 'a'))).code()
        == "invalid_request");
  CHECK(call(op::ping, fields{}.set("path", "a")).code() == "invalid_request");
  CHECK(call(op::glob, fields{}.set("path", ".")).code() == "invalid_pattern");
}

TEST_CASE_FIXTURE(sandbox, "a request cancelled before it starts does nothing") {
  auto out = std::make_shared<recording_writer>();
  out->checks_before_cancel = 0;
  auto x = call(op::write_file, fields{}.set("path", "d/a"), payload("x"), out);
  CHECK(x.code() == "busy");
  CHECK(names().empty());
}
