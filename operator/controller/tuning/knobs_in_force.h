// Which knobs the tuner may turn in one job now, and how far: as the workers' program, the manifest, the room of the
// namespace and the platform allow. Reports when another space of settings, or another objective, is in force than
// before: what is measured holds for one of them. A plain value, of one thread; nothing of it fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operator/controller/observe/tuning_values.h"
#include "operator/controller/tuning/state/cpu_ceiling.h"
#include "operator/controller/tuning/state/room_in_force.h"
#include "operator/tuner/tuner.h"

namespace attune::controller {

class KnobsInForce {
 public:
  // Knobs that are not the tuner's to choose in this job are left out of its settings, ranges end where the platform
  // does. `threads`: of each worker when one reported last.
  void Narrow(TuningInput& input, std::optional<int32_t> threads);
  // Returns whether another space or objective is in force than at the look before.
  bool Look(const TuningInput& input);
  // Of what Narrow has left, as of the last look.
  tuner::SpaceDescription Space(const TuningInput& input) const;

  // A change was refused because the namespace has no room for it.
  void MeetEdge() { room_.Met(); }
  // A size never fits, on the way from a setting; see CpuCeiling.
  std::optional<std::string> Lower(const InfeasibleCpu& size, const JobSetting& from);
  // A setting has come about: what was learned on the way counts.
  void Settle() { ceiling_.Settle(); }

  // Whether settings of the space are tried, or only recommended, as of the last look.
  bool AreTried() const { return AreTried(key_); }
  static bool AreTried(const std::string& key);

  // What another operator continues from. The room is not kept: a new operator looks for itself.
  struct Kept {
    std::string key;  // of the space and the objective
    int32_t threads_max = 0;
    JobSetting ceiling;
  };
  Kept kept() const;
  // `settled`: no change was on its way.
  void Load(Kept kept, bool settled);

 private:
  std::string key_;
  int32_t threads_max_ = 0;  // of the workers' program, once it has said so
  RoomInForce room_;
  CpuCeiling ceiling_;
};

}  // namespace attune::controller
