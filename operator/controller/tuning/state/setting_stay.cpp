#include "operator/controller/tuning/state/setting_stay.h"

#include <algorithm>

namespace attune::controller {

void SettingStay::Begin(double now) {
  measured_ = false;
  until_ = now + kWarmUpSeconds + seconds_;
}

bool SettingStay::Interrupt(double now, bool failed, double window_seconds) {
  if (!unsettled_since_) unsettled_since_ = now;
  if (!failed && now - *unsettled_since_ < kLateSeconds) return false;
  until_ = std::max(until_, now + window_seconds);
  return true;
}

void SettingStay::Load(double until, double seconds) {
  until_ = until;
  seconds_ = seconds;
}

}  // namespace attune::controller
