#include "actors/pools.hpp"

#include "actors/provider_answers.hpp"
#include "messages/wire/owner.hpp"

#include <algorithm>

namespace corral {

namespace {

/// Asks every pool and delivers what `add` has made of all answers; the first error instead.
template <class Answer, class Total, class... Ts>
caf::result<Total> ask_all(provider_actor::pointer self, const std::vector<named_pool>& all,
                           std::function<void(Total&, const Answer&)> add, Ts... xs) {
  struct state {
    size_t open;
    Total total{};
  };
  auto promise = self->make_response_promise<Total>();
  auto s = std::make_shared<state>(state{all.size(), {}});
  for (auto& x : all)
    self->request(x.provider, caf::infinite, xs...)
        .then(
            [promise, s, add](const Answer& answer) mutable {
              add(s->total, answer);
              if (--s->open == 0)
                promise.deliver(s->total);
            },
            [promise](const caf::error& why) mutable { promise.deliver(why); });
  return promise;
}

void append(std::vector<fields>& total, const std::vector<fields>& rows) {
  total.insert(total.end(), rows.begin(), rows.end());
}

} // namespace

provider_actor::behavior_type pools(provider_actor::pointer self, std::vector<named_pool> all,
                                    std::shared_ptr<pool_directory> directory) {
  auto index_of = [all](const std::string& name) -> std::optional<size_t> {
    auto i = std::find_if(all.begin(), all.end(), [&](auto& x) { return x.name == name; });
    return i != all.end() ? std::optional{static_cast<size_t>(i - all.begin())} : std::nullopt;
  };
  // The pool of a sandbox by its id.
  auto of = [all, directory](const std::string& id) -> result<provider_actor> {
    auto found = directory->find(id);
    if (!found)
      return tl::unexpected{found.error()};
    return all[*found].provider;
  };
  return {
      [=](acquire_atom, const acquire_order& order) -> caf::result<grant> {
        auto wanted = index_of(order.pool);
        if (order.who.thread.empty())
          return self->delegate(all[wanted.value_or(0)].provider, acquire_atom::value, order);
        auto id = sandbox_id_of(order.who);
        auto pool = directory->ask(id, wanted);
        if (!pool)
          return to_caf(pool.error());
        auto promise = self->make_response_promise<grant>();
        self->request(all[*pool].provider, caf::infinite, acquire_atom::value, order)
            .then(
                [=](const grant& g) mutable {
                  directory->answered(id);
                  promise.deliver(g);
                },
                [=](const caf::error& why) mutable {
                  directory->answered(id);
                  promise.deliver(why);
                });
        return promise;
      },
      [=](find_atom, const std::string& id) -> caf::result<grant> {
        auto pool = of(id);
        if (!pool)
          return to_caf(pool.error());
        return self->delegate(*pool, find_atom::value, id);
      },
      [=](owner_atom, const std::string& id) -> caf::result<owner> {
        auto pool = of(id);
        if (!pool)
          return to_caf(pool.error());
        return self->delegate(*pool, owner_atom::value, id);
      },
      [=](inspect_atom, const std::string& id) -> caf::result<fields_ptr> {
        auto pool = of(id);
        if (!pool)
          return to_caf(pool.error());
        return self->delegate(*pool, inspect_atom::value, id);
      },
      [=](list_atom, const std::string& pool, const std::string& state,
          const std::string& user) -> caf::result<std::vector<fields>> {
        if (auto one = index_of(pool))
          return self->delegate(all[*one].provider, list_atom::value, pool, state, user);
        return ask_all<std::vector<fields>, std::vector<fields>>(
            self, all, append, list_atom::value, pool, state, user);
      },
      [=](release_atom, const client_key& client, const std::string& id,
          const std::string& lease) -> caf::result<fields_ptr> {
        auto pool = of(id);
        if (!pool)
          return to_caf(pool.error());
        return self->delegate(*pool, release_atom::value, client, id, lease);
      },
      [=](release_atom, const client_key& client) {
        return ask_all<fields_ptr, fields_ptr>(
            self, all,
            [](fields_ptr& total, const fields_ptr& x) {
              auto before = total ? total->integer("released").value_or(0) : 0;
              total = share(fields{}
                                .set("remaining", 0)
                                .set("released", before + x->integer("released").value_or(0)));
            },
            release_atom::value, client);
      },
      [=](destroy_atom, const std::string& id, const client_key& client, bool force,
          bool purge) -> caf::result<fields_ptr> {
        auto pool = of(id);
        if (!pool)
          return to_caf(pool.error());
        return self->delegate(*pool, destroy_atom::value, id, client, force, purge);
      },
      [=](stats_atom) {
        return ask_all<std::vector<fields>, std::vector<fields>>(self, all, append,
                                                                 stats_atom::value);
      },
      [](configure_atom, const pool_limits&) {}, // Each pool has its own.
      [=](reap_atom) { directory->forget_ended(self->clock().now()); },
      [=](drain_atom, duration limit) {
        return ask_all<caf::ok_atom, caf::ok_atom>(
            self, all, [](caf::ok_atom&, caf::ok_atom) {}, drain_atom::value, limit);
      },
      [](up_atom, const std::string&, int64_t) {}, // Of no concern here.
      [](tick_atom, uint64_t) {},
  };
}

} // namespace corral
