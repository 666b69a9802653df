#include "operator/tuner/choice/stays.h"

namespace attune::tuner {

void Stays::Absorb(int setting, double windows) {
  if (setting == last_) windows_here_ += windows;
}

void Stays::Move(int setting, DecisionKind kind) {
  if (setting != last_) {
    previous_ = last_;
    last_ = setting;
    windows_here_ = 0;
  }
  if (kind == DecisionKind::kKeep && setting != kept_) {
    previous_kept_ = kept_;
    kept_ = setting;
  }
}

void Stays::Load(const Dump& dump) {
  last_ = dump.last;
  previous_ = dump.previous;
  kept_ = dump.kept;
  previous_kept_ = dump.previous_kept;
  windows_here_ = dump.windows_here;
}

}  // namespace attune::tuner
