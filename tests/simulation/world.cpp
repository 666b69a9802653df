#include "tests/simulation/world.h"

#include <cstdio>

namespace attune::ps::simulation {
namespace {

constexpr size_t kViolationsMax = 5;     // what follows the first few is mostly their consequence
constexpr size_t kHistoryMax = 2000000;  // lines

}  // namespace

void World::Violation(const std::string& text) {
  Trace("VIOLATION: " + text);
  if (outcome_.violations.size() < kViolationsMax) {
    outcome_.violations.push_back("at " + std::to_string(Time() * 1e3) + " ms: " + text);
  }
}

void World::WakeAt(std::optional<MonotonicTime>& alarm, MonotonicTime at, std::function<void()> ring) {
  if (at == kNever || (alarm && *alarm <= at)) return;
  alarm = at;
  At(at, [&alarm, at, ring = std::move(ring)] {
    if (alarm != at) return;
    alarm.reset();
    ring();
  });
}

void World::Trace(const std::string& text) {
  if (!keeps_history_ || outcome_.history.size() >= kHistoryMax) return;
  char time[32];
  std::snprintf(time, sizeof time, "%12.3f ms  ", Time() * 1e3);
  outcome_.history.push_back(time + text);
}

}  // namespace attune::ps::simulation
