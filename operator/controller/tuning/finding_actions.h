// Findings act: what is wrong with a part of a job asks for an act, once each, and what came of it is measured.
//
//   memory     a pod reaches its limit soon (memory_forecast.h): raise it. Passed on until the spec has it; the plan
//              raises no size twice. Judged by the pod: it uses more than the old limit allowed, or it did not need it.
//              Where nothing can be raised, what to do is reported instead, once for a limit.
//   straggler  a worker is slower than the others: move it to another machine. Judged by the job's steps per second
//              before and after. One at a time; what did not help is not done to that worker again, what did help not
//              within kCoolDownSeconds.
//   network    workers wait for rows although servers have CPU left: a server that runs on a machine without workers
//              moves to one with workers. Judged likewise; once one such move did not help, no other is tried.
//
// A limit that was raised is lowered again only by what is seen for ten minutes (memory_reclaim.h). A move is not taken
// back: that would be one more, to a machine that was the worse one.
//
// Pure. What must not be forgotten is in Save(): a new operator asks for nothing twice. Bounded by kActsMax. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/observe/tuning_values.h"
#include "operator/controller/tuning/memory_forecast.h"
#include "operator/controller/tuning/memory_reclaim.h"
#include "operator/tuner/detectors.h"

namespace attune::controller {

class FindingActions {
 public:
  // One look. Adds acts and events to `output`. `may_act`: nothing else is on its way into the spec.
  void Look(const TuningInput& input, const std::vector<tuner::Finding>& findings, bool may_act, TuningOutput& output);

  std::string Save() const;  // JSON
  static FindingActions Load(const std::string& saved);

  static constexpr size_t kActsMax = 64;
  static constexpr double kPatienceWindows = 2;  // of a finding, before it is acted on
  static constexpr double kMeasureWindows = 6;   // before and after
  static constexpr double kAskSeconds = 30;      // an act that was not taken up by then was refused
  static constexpr double kSettleSeconds = 600;  // until the job is as it should be again
  static constexpr double kCoolDownSeconds = 600;
  static constexpr double kHelpedShare = 0.05;  // more steps per second

 private:
  enum class Stage { kSeen, kAsked, kMeasuring, kHelped, kNoHelp };
  // About one pod that another machine may help: a worker that straggles, or a server far from the workers.
  struct Move {
    RoleName role = RoleName::kWorker;
    int32_t index = 0;
    Stage stage = Stage::kSeen;
    double since = 0;        // of the stage
    bool begun = false;      // the job was not settled since it was asked for: the move is running, or done
    double rate_before = 0;  // steps per second
    uint64_t steps = 0;      // when measuring began
  };
  // About one pod whose limit was to be raised.
  struct Raise {
    PodMemory before;
    double since = 0;
    bool raised = false;
  };

  void LookAtMemory(const TuningInput& input, bool may_act, TuningOutput& output);
  void JudgeRaises(const TuningInput& input, TuningOutput& output);
  void LookAtMoves(const TuningInput& input, const std::vector<tuner::Finding>& findings, bool may_act,
                   TuningOutput& output);
  std::vector<PodMove> Wanted(const TuningInput& input, const std::vector<tuner::Finding>& findings) const;
  void Follow(const TuningInput& input, Move& move, bool present, TuningOutput& output);
  void Judge(const TuningInput& input, Move& move, bool present, TuningOutput& output);
  Move* MoveOf(const PodMove& wanted, double now);
  void CountSteps(const TuningInput& input);
  double StepsPerSecond() const;  // over the last windows

  MemoryForecast forecast_;
  MemoryReclaim reclaim_;
  std::vector<Raise> raises_;        // not saved: the spec has what was asked for
  std::vector<PodMemory> reported_;  // at their bound, each limit once; not saved
  std::vector<Move> moves_;
  std::deque<std::pair<double, uint64_t>> steps_;  // by time, over kMeasureWindows; not saved
};

// spec.tuning: memory is raised without another pod, another machine needs one. Nothing acts while tuning is paused.
bool ActsOnMemory(const api::Tuning& tuning);
bool ActsOnStragglers(const api::Tuning& tuning);
bool ActsOnNetwork(const api::Tuning& tuning);

}  // namespace attune::controller
