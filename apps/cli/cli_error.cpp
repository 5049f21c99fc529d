#include "apps/cli/cli_error.hpp"

namespace corral::cli {

fields cli_error::to_fields() const {
  fields x;
  x.set("code", code).set("message", message).set("details", details).set("retryable", retryable);
  return fields{}.set("error", x);
}

cli_error cli_error::from_reply(const fields& x) {
  return {x.text("code").value_or("internal"), x.text("message").value_or("no reason was given"),
          x.object("details").value_or(fields{}), x.flag("retryable").value_or(false)};
}

} // namespace corral::cli
