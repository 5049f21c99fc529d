// top: the sandboxes and what they do, again and again.

#include "apps/cli/commands.hpp"
#include "apps/cli/screen.hpp"
#include "apps/cli/terminal.hpp"
#include "apps/cli/top_view.hpp"

namespace corral::cli {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

cli_result<fields> get(daemon_client& client, const std::string& id) {
  message r;
  r.header.set("op", "get").set("sandbox", id);
  return client.call(std::move(r)).map([](message x) {
    return x.header.erase("re").erase("ok").erase("found");
  });
}

cli_result<top_sample> look(daemon_client& client) {
  message list, stats;
  list.header.set("op", "list");
  auto listed = client.call(std::move(list));
  if (!listed)
    return tl::unexpected{listed.error()};
  std::vector<fields> rows;
  for (auto& row : rows_of(*listed)) {
    auto x = get(client, row.text("sandbox").value_or(""));
    if (!x)
      return tl::unexpected{x.error()};
    if (x->has("sandbox")) // Else it has gone meanwhile.
      rows.push_back(std::move(*x));
  }
  stats.header.set("op", "stats");
  return client.call(std::move(stats)).map([&](const message& x) {
    return top_sample::of(clock::now(), x.header, rows);
  });
}

/// Waits until the next look; true if the user wants to end.
cli_result<bool> wait(daemon_client& client, interrupts& signals, milliseconds interval,
                      screen* page) {
  auto end = clock::now() + interval;
  for (auto left = interval; left > milliseconds::zero();
       left = std::chrono::ceil<milliseconds>(end - clock::now())) {
    std::vector<int> others{signals.fd()};
    if (auto keys = page != nullptr ? page->keys() : std::nullopt)
      others.push_back(*keys);
    if (auto x = client.receive(left, others); !x)
      return tl::unexpected{x.error()};
    if (signals.take())
      return true;
    while (auto key = page != nullptr ? page->take_key() : std::nullopt)
      if (*key == 'q' || *key == 'Q')
        return true;
  }
  return false;
}

cli_result<int> show_once(daemon_client& client, interrupts& signals, const top_options& x,
                          bool json) {
  auto before = look(client);
  if (!before)
    return tl::unexpected{before.error()};
  auto ended = wait(client, signals, x.interval, nullptr);
  if (!ended)
    return tl::unexpected{ended.error()};
  if (*ended)
    return exit_cancelled;
  auto now = look(client);
  if (!now)
    return tl::unexpected{now.error()};
  top_view view{*before, *now};
  if (json)
    return print_json(view.json());
  return write_to(stream::out, view.text(0, 0)).map([] { return int{exit_ok}; });
}

cli_result<int> show_on(screen& page, daemon_client& client, interrupts& signals,
                        const top_options& x) {
  std::optional<top_sample> before;
  for (;;) {
    auto now = look(client);
    if (!now)
      return tl::unexpected{now.error()};
    top_view view{before ? *before : *now, *now};
    auto size = page.size();
    if (auto drawn = page.draw(view.text(size.lines, size.columns)); !drawn)
      return tl::unexpected{drawn.error()};
    auto ended = wait(client, signals, x.interval, &page);
    if (!ended)
      return tl::unexpected{ended.error()};
    if (*ended)
      return exit_ok;
    before = std::move(*now);
  }
}

} // namespace

cli_result<int> top(daemon_client& client, interrupts& signals, const top_options& x, bool json) {
  if (json || !is_terminal(stream::out))
    return show_once(client, signals, x, json);
  screen page;
  return show_on(page, client, signals, x);
}

} // namespace corral::cli
