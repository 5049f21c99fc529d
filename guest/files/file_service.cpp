#include "guest/files/file_service.hpp"

#include "guest/files/file_call.hpp"

#include <exception>
#include <new>

namespace corral::guest {

namespace {

bool changes_files(op id) {
  return id == op::write_file || id == op::update_file || id == op::str_replace;
}

result<void> serve(file_call& call) {
  switch (call.spec.id) {
  case op::read_file:
    return read_file(call);
  case op::download_file:
    return download_file(call);
  case op::write_file:
    return write_file(call);
  case op::update_file:
    return update_file(call);
  case op::str_replace:
    return str_replace(call);
  case op::list_dir:
    return list_dir(call);
  case op::glob:
    return glob(call);
  case op::grep:
    return grep(call);
  default:
    return failure(errc::invalid_request, std::string{call.spec.name} + " is no file operation");
  }
}

void answer_failure(const file_call& call, error x) {
  if (auto requested = call.header.text("path"))
    x.details.set("path", *requested);
  x.details.set("operation", call.spec.name);
  call.out->finish(make_reply(x));
}

result<void> serve_in_time(file_call& call) {
  call.deadline = call.settings.now() + call.timeout();
  if (auto checked = call.check(); !checked)
    return checked;
  return serve(call);
}

void run(file_call& call) {
  result<void> served;
  try {
    served = serve_in_time(call);
  } catch (const std::bad_alloc&) {
    served = call.fail(errc::out_of_memory, "not enough memory for it");
  } catch (const std::exception&) {
    served = call.fail(errc::internal, "the operation failed unexpectedly");
  }
  if (!served)
    answer_failure(call, std::move(served.error()));
}

} // namespace

file_service::file_service(file_settings settings)
    : settings_{std::move(settings)}, paths_{settings_}, pool_{settings_.max_threads,
                                                               settings_.thread_idle} {}

void file_service::submit(const op_spec& spec, fields header, std::shared_ptr<payload_reader> in,
                          std::shared_ptr<reply_writer> out) {
  auto path = paths_.normalise(header.text("path").value_or(""));
  auto key = path && changes_files(spec.id) ? *path : std::string{};
  auto call = std::make_shared<file_call>(file_call{spec,
                                                    std::move(header),
                                                    std::move(in),
                                                    std::move(out),
                                                    settings_,
                                                    paths_,
                                                    path.value_or(""),
                                                    {}});
  auto task = [call, path] {
    if (path)
      run(*call);
    else
      answer_failure(*call, path.error());
  };
  if (!pool_.submit(std::move(key), task))
    answer_failure(*call, {errc::busy, "no thread could be started for it", {}});
}

} // namespace corral::guest
