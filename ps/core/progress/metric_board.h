// What programs report of the model over time (Session::ReportMetric): the last and the best value of each name, and
// whether a goal in one of them is reached. A pure function of the reports in the order of their arrival; its state is
// a value, which a successor of the coordinator continues with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ps/core/protocol/progress_state.h"

namespace attune::ps {

class MetricBoard {
 public:
  // `best` has a say in the direction of its metric, no more.
  MetricBoard(std::optional<TargetMetric> target, std::optional<EarlyStopping> early_stopping,
              std::optional<BestCheckpointRule> best = std::nullopt)
      : target_(std::move(target)), early_stopping_(std::move(early_stopping)), best_(std::move(best)) {}
  // With what another board has seen.
  void Restore(const std::vector<MetricState>& states);
  // A resumed job, whose goals may be others: with what the checkpoint knew. Goals are judged by the next report, so
  // that a job that had stopped early may be given another chance. What was counted in the other direction is dropped.
  void Continue(const std::vector<MetricState>& states);

  // Nothing: a value that is not finite. ResourceExhausted when there are kJobMetricsMax other names already.
  Status Report(const std::string& name, std::optional<double> value, const MetricPlace& place);

  // Why training is over, by all reports so far: "held_out_loss <= 3.2 at epoch 41 (3.187)". "": it is not.
  const std::string& verdict() const { return verdict_; }
  std::vector<MetricState> states() const;                 // by name
  const MetricState* Find(const std::string& name) const;  // nullptr: none was reported

 private:
  bool Maximize(const std::string& name) const;
  void Judge(const MetricState& state, const MetricPlace& place);

  std::optional<TargetMetric> target_;
  std::optional<EarlyStopping> early_stopping_;
  std::optional<BestCheckpointRule> best_;
  std::map<std::string, MetricState> states_;
  std::string verdict_;
};

}  // namespace attune::ps
