// A probe: some windows at another staleness, where the loss cannot show what progress per update is worth.
//
// A job that went to many workers before it had seen its loss fall cannot distinguish a collapse of progress from a
// curve that is flat by itself; one that left a collapse does not know how many workers it may have. Single windows
// teach nothing about it. A probe is planned like an experiment: where and as long as it takes to be convinced, and
// made if the chance of that, times what it would save, exceeds its cost. A plain value.
#pragma once

#include <optional>

#include "operator/tuner/belief/view.h"
#include "operator/tuner/choice/proposal.h"

namespace attune::tuner {

class EfficiencyProbe {
 public:
  // So many windows were measured at a setting, with a loss or without.
  void Absorb(int setting, double windows, bool with_loss);
  // The probe in progress where it is to continue, or one that begins now; nothing otherwise.
  std::optional<Proposal> Next(const Evidence& evidence, const View& view);

  struct Dump {
    int setting = -1;
    double windows = 0, windows_since = 0, planned = 0, staleness = 0;
  };
  Dump Save() const { return {setting_, windows_, windows_since_, planned_, staleness_}; }
  void Load(const Dump& dump);

 private:
  std::optional<Proposal> Continue(const Evidence& evidence, const View& view);
  bool MayBegin(const Evidence& evidence, const View& view) const;

  int setting_ = -1;                  // of the probe in progress; -1: none
  double windows_ = 0, planned_ = 0;  // made of it, and how many it shall have
  double staleness_ = 0;              // of the incumbent when the last one began
  double windows_since_ = 0;          // with a loss, since the last one
};

}  // namespace attune::tuner
