// When a checkpoint is cut because the model is better than ever before (spec.checkpoint.best), and which one is the
// best. Pure: decided by what programs have reported, the best checkpoint so far, and time.
//
// 1. It is due when the last report of the metric is better than that of the best checkpoint. What was reported is the
//    model of a moment ago, so a report that no checkpoint could follow within kFresh is left out.
// 2. One at a time. Then none for four times as long as the last one took, at least kRestMin and at most kRestMax: a
//    metric that improves with every step costs a fifth of the time, not all of it.
// 3. The goal ends that rest: the value that has reached it is mostly the best one, and no other follows.
// 4. What fails is not repeated, since the model has changed since; the next better report is the next occasion.
#pragma once

#include <optional>
#include <string>

#include "base/time_source.h"
#include "ps/core/progress/metric_board.h"
#include "ps/core/protocol/cut_record.h"

namespace attune::ps {

class BestCheckpointKeeper {
 public:
  static constexpr Duration kFresh = std::chrono::seconds(10);
  static constexpr Duration kRestMin = std::chrono::seconds(1), kRestMax = std::chrono::minutes(10);
  static constexpr int kRestsPerCut = 4;

  explicit BestCheckpointKeeper(std::optional<BestCheckpointRule> rule) : rule_(std::move(rule)) {}
  // What another coordinator, or the checkpoint that a job is resumed from, knew as the best one. It does not count
  // when it is the best by something else.
  void Restore(const std::optional<BestCheckpoint>& kept);

  // A report has arrived and is on the board.
  void Note(const std::string& metric, const MetricBoard& metrics, MonotonicTime now);
  // A checkpoint of now would be better than the best one.
  bool WouldBeBest(const MetricBoard& metrics) const;
  bool IsDue(const MetricBoard& metrics, MonotonicTime now, bool goal_reached) const;
  // It is begun: only a later report makes another one due.
  void Begin() { fresh_until_.reset(); }
  // What a checkpoint whose rows are copied now is the best by.
  BestCheckpoint Mark(const MetricBoard& metrics, const std::string& directory, uint64_t checkpoint) const;
  // `complete`: it is, and thereby the best one. nullopt: it failed.
  void End(const std::optional<BestCheckpoint>& complete, MonotonicTime now, Duration took);

  const std::optional<BestCheckpoint>& kept() const { return kept_; }

 private:
  std::optional<BestCheckpointRule> rule_;
  std::optional<BestCheckpoint> kept_;
  std::optional<MonotonicTime> fresh_until_;  // of the last report, when it is good
  std::optional<MonotonicTime> rest_until_;
};

// "held_out_loss 3.187 at epoch 41".
std::string Describe(const BestCheckpoint& best);

}  // namespace attune::ps
