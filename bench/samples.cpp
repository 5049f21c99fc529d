#include "bench/samples.hpp"

#include <algorithm>
#include <cmath>

namespace corral::bench {

double percentile(samples x, double share) {
  if (x.empty())
    return 0;
  auto rank = std::ceil(share * static_cast<double>(x.size()));
  auto index = std::clamp<size_t>(static_cast<size_t>(rank), 1, x.size()) - 1;
  auto at = x.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(x.begin(), at, x.end());
  return *at;
}

double time_of(const std::function<void()>& call) {
  auto began = clock::now();
  call();
  return std::chrono::duration<double, std::micro>(clock::now() - began).count();
}

pair by_turns(size_t calls, const std::function<void()>& baseline,
              const std::function<void()>& measured) {
  samples a, b;
  while (a.size() < calls) {
    a.push_back(time_of(baseline));
    b.push_back(time_of(measured));
  }
  return {median(a), median(b)};
}

} // namespace corral::bench
