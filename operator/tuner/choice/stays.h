// Where a job has been: at which setting it was decided last to be, how long it is there, which settings were kept. A
// plain value; -1 where there is no setting yet.
#pragma once

#include "operator/tuner/records/decision_record.h"

namespace attune::tuner {

class Stays {
 public:
  // So many windows were measured at a setting.
  void Absorb(int setting, double windows);
  // It was decided to be there.
  void Move(int setting, DecisionKind kind);

  double windows_here() const { return windows_here_; }  // at the present setting, since it was moved to
  int kept() const { return kept_; }                     // decided last to be kept
  int previous_kept() const { return previous_kept_; }   // and the one before it

  struct Dump {
    int last = -1, previous = -1, kept = -1, previous_kept = -1;
    double windows_here = 0;
  };
  Dump Save() const { return {last_, previous_, kept_, previous_kept_, windows_here_}; }
  void Load(const Dump& dump);

 private:
  int last_ = -1, previous_ = -1;
  int kept_ = -1, previous_kept_ = -1;
  double windows_here_ = 0;
};

}  // namespace attune::tuner
