#pragma once

#include "actors/pool_directory.hpp"
#include "messages/provider.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <string>
#include <vector>

namespace corral {

struct named_pool {
  std::string name;
  provider_actor provider;
};

/// Stands for several pools as if they were one: sends each request to the pool that is concerned.
/// It lives on the providers' thread, whose observers keep the directory up to date.
provider_actor::behavior_type pools(provider_actor::pointer self, std::vector<named_pool> all,
                                    std::shared_ptr<pool_directory> directory);

} // namespace corral
