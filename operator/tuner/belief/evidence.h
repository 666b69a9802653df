// What a job has shown of itself: every report, in the terms of the models that learn from it. Takes reports, checks
// that they can be true, and passes each part of them on to the model it belongs to; what follows from all models
// together is a View (view.h). Of one job; not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "operator/tuner/belief/goal_progress.h"
#include "operator/tuner/belief/job_description.h"
#include "operator/tuner/belief/report.h"
#include "operator/tuner/models/block_log.h"
#include "operator/tuner/models/cpu_model.h"
#include "operator/tuner/models/loss_curve.h"
#include "operator/tuner/models/memory_model.h"
#include "operator/tuner/models/pricing.h"
#include "operator/tuner/models/staleness_model.h"
#include "operator/tuner/models/structural_prior.h"
#include "operator/tuner/models/throughput_model.h"
#include "operator/tuner/models/timing_model.h"

namespace attune::tuner {

class Evidence {
 public:
  // InvalidArgument for a job that cannot be tuned. What similar jobs of its history have shown is taken up.
  static StatusOr<Evidence> Create(JobDescription job, PriorCache& priors);

  // InvalidArgument for a report that cannot be true, which changes nothing, and for one of an unknown setting, of
  // which only the steps count.
  Status Absorb(const Report& report);
  // What stands for the loss in a window: the loss, or a metric turned into one. Nothing where neither is a number > 0.
  std::optional<double> LossIn(const Report& report) const;
  // A question at `now`; returns the seconds since the job began.
  double Advance(double now) { return progress_.Advance(now); }
  void SetEnding(double now, const Ending& ending) { progress_.SetEnding(now, ending); }

  // As it was described; the goal as it was stated last.
  JobDescription job_now() const;
  // The goal as it was stated first: progress() has the present one.
  const JobDescription& job() const { return job_; }
  const SearchSpace& space() const { return space_; }
  const GoalProgress& progress() const { return progress_; }
  const BlockLog& blocks() const { return blocks_; }
  const MemoryModel& memory() const { return memory_; }
  const CpuModel& cpu() const { return cpu_; }
  const LossCurve& curve() const { return curve_; }
  const ThroughputModel& throughput() const { return throughput_; }
  const Pricing& pricing() const { return pricing_; }
  double spent() const { return spent_; }  // so far, by the objective's prices

  bool IsBanned(int setting) const { return memory_.Banned(space_, setting); }
  double ExpectedStaleness(int setting) const;
  ChangeCost CostOf(int from, int to) const { return CostOfChange(space_, job_.costs, from, to); }
  // What processes do with their time has shaped the prior: it is this job's.
  bool KnowsTimes() const { return !timing_.taken().empty(); }
  // Speeds and crashes, for similar jobs.
  HistoryEntry Summary() const;

  struct Dump {
    BlockLog::Dump blocks;
    LossCurve::Dump curve;
    HypothesisWeights efficiency_prior{};
    MemoryModel::Dump memory;
    std::vector<CpuModel::Entry> cpu;
    TimingModel::Saved timing;
    StalenessModel::Dump staleness;
    GoalProgress::Dump progress;
    double spent = 0;
  };
  Dump Save() const;
  // REQUIRES: every setting in it is one of the space.
  void Load(Dump dump);

 private:
  Evidence(JobDescription job, SearchSpace space, std::shared_ptr<const StructuralPrior> prior);
  void TakeUp(const HistoryEntry& entry, int source);
  void AbsorbLoss(const Report& report, int id);
  void AbsorbSpeed(const Report& report, int id);
  void FollowTimes();

  JobDescription job_;
  SearchSpace space_;
  std::shared_ptr<const StructuralPrior> prior_;  // of all jobs of the space; the throughput's may be this job's
  BlockLog blocks_;
  MemoryModel memory_;
  CpuModel cpu_;
  TimingModel timing_;
  LossCurve curve_;
  ThroughputModel throughput_;
  Pricing pricing_;
  StalenessModel staleness_;
  GoalProgress progress_;
  double spent_ = 0;
};

}  // namespace attune::tuner
