// Memory that the pods of a role have and do not use is given back: their limit, and a request that equals it, is
// lowered to half as much again as the most that any of them has used for a while. Machines then have room for others.
//
//   watching   the same pods, settled, at one limit, for kWatchSeconds and kWatchWindows: the second half must
//              not need more than the first, or they still grow. Worth it when a quarter of the limit is given back.
//   asked      until all pods have it; what is refused is not asked for again.
//   measuring  steps per second before and after: pages that a process reads again and again may be worth their memory.
//              What made the job slower is taken back.
//
// Never below spec.*.resources.memory.min, which has to be stated, nor below a limit that was raised since (because
// memory ran out, or was about to), nor while an alarm says that memory runs out. So it ends, whatever the program
// does.
//
// Pure. What must not be forgotten is in Save(). Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "operator/controller/observe/tuning_values.h"

namespace attune::controller {

class MemoryReclaim {
 public:
  // One look. Adds targets and events to `output`, whose raises it respects. `may_act`: spec.tuning lets it, and
  // nothing else is on its way into the spec. `steps_per_second`: of the job, over the last windows.
  void Look(const TuningInput& input, bool may_act, double steps_per_second, TuningOutput& output);

  std::string Save() const;  // a JSON array
  static MemoryReclaim Load(const std::string& saved);

  static constexpr double kWatchSeconds = 600;
  static constexpr double kWatchWindows = 60;
  static constexpr double kRoom = 1.5;      // times the most that was used
  static constexpr double kWorthIt = 0.75;  // of the limit at most, or it stays
  static constexpr double kGrows = 1.02;    // times the peak of the first half
  static constexpr double kSlower = 0.95;   // of the steps per second before
  static constexpr double kSettleSeconds = 600;
  static constexpr double kMeasureWindows = 6;
  static constexpr int64_t kStep = 16 << 20;  // targets are multiples of it

 private:
  enum class Stage { kWatching, kAsked, kMeasuring };
  // What the pods of one role have and use, as of one look.
  struct Reading {
    size_t pods = 0;
    int64_t limit = 0, used = 0;  // of all of them; of the fullest
    bool one_limit = false;
    int64_t min = 0;    // of the role's range; 0: not stated
    int64_t asked = 0;  // the target of the spec; 0: none
  };
  struct Role {
    Stage stage = Stage::kWatching;
    double since = 0;  // of the stage, or of what is watched
    size_t pods = 0;
    int64_t limit = 0;            // watched, or before it was lowered
    int64_t early = 0, late = 0;  // peaks of both halves of the time
    int64_t target = 0;           // asked for, measured, or the last one that was kept; 0: none
    int64_t asked_before = 0;     // the target of the spec when this one was asked for
    int64_t floor = 0;            // lower than this was not enough, or was refused
    double rate_before = 0;       // steps per second
    uint64_t steps = 0;           // when measuring began
  };

  static Reading ReadingOf(const TuningInput& input, RoleName role);
  static void Restart(Role& role, const Reading& reading, double now);
  void Watch(RoleName name, Role& role, const Reading& reading, const TuningInput& input, bool may_act, double rate,
             TuningOutput& output);
  void Follow(RoleName name, Role& role, const Reading& reading, const TuningInput& input, TuningOutput& output);
  static void Ask(RoleName name, Role& role, const Reading& reading, int64_t target, double now, TuningOutput& output);
  static void TakeBack(RoleName name, Role& role, const Reading& reading, double now, TuningOutput& output);
  void Judge(RoleName name, Role& role, const Reading& reading, const TuningInput& input, TuningOutput& output);

  std::array<Role, 2> roles_;  // by RoleName
};

}  // namespace attune::controller
