// How far a job's training has come, beside its clocks and leases, as values: goals in reported metrics, what each
// metric was, and which evaluations have become due. Kept by copies of the coordinator's record and by checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "proto/metric_name.h"
#include "ps/core/protocol/field_list.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

// Training is over when the metric is at the value or beyond it.
struct TargetMetric {
  std::string name;
  double value = 0;
  bool maximize = false;
  bool operator==(const TargetMetric&) const = default;
};
ATTUNE_FIELDS(TargetMetric, FIELD(name, AtMost(contract::kMetricNameBytesMax, Is::kMetricName)),
              FIELD(value, Is::kFinite), FIELD(maximize));

// Training is over when `patience` reports in a row have not been better than the one before them by more than
// min_delta.
struct EarlyStopping {
  std::string metric;
  uint64_t patience = 1;
  double min_delta = 0;
  bool maximize = false;
  bool operator==(const EarlyStopping&) const = default;
};
ATTUNE_FIELDS(EarlyStopping, FIELD(metric, AtMost(contract::kMetricNameBytesMax, Is::kMetricName)),
              FIELD(patience, Is::kCount), FIELD(min_delta, Is::kFinite), FIELD(maximize));

// A checkpoint is cut after a report of the metric that is better than the one of the best checkpoint so far
// (ps/core/progress/best_checkpoint.h).
struct BestCheckpointRule {
  std::string metric;
  bool maximize = false;
  std::string directory;  // that all servers share
  bool operator==(const BestCheckpointRule&) const = default;
};
ATTUNE_FIELDS(BestCheckpointRule, FIELD(metric, AtMost(contract::kMetricNameBytesMax, Is::kMetricName)),
              FIELD(maximize), FIELD(directory, AtMost(kPathBytesMax)));

// Where the job was when a report came.
struct MetricPlace {
  uint64_t step = 0;   // of all workers so far
  uint64_t epoch = 0;  // that were finished
  uint64_t items = 0;  // of the training data, over all epochs
  bool operator==(const MetricPlace&) const = default;
};
ATTUNE_FIELDS(MetricPlace, FIELD(step, Is::kCount), FIELD(epoch, Is::kCount), FIELD(items, Is::kCount));

struct MetricState {
  std::string name;
  bool maximize = false;
  uint64_t reports = 0;   // finite ones
  uint64_t left_out = 0;  // the others
  std::optional<double> value, best;
  MetricPlace at, best_at;
  // Of early stopping: the value that later ones must be better than, and how many have not been.
  std::optional<double> reference;
  uint64_t without_gain = 0;
  bool operator==(const MetricState&) const = default;
};
ATTUNE_FIELDS(MetricState, FIELD(name, AtMost(contract::kMetricNameBytesMax, Is::kMetricName)), FIELD(maximize),
              FIELD(reports, Is::kCount), FIELD(left_out, Is::kCount), FIELD(value, Is::kFinite),
              FIELD(best, Is::kFinite), FIELD(at), FIELD(best_at), FIELD(reference, Is::kFinite),
              FIELD(without_gain, Is::kCount));

// By more than `by`.
inline bool IsBetterMetric(double value, double than, bool maximize, double by = 0) {
  return maximize ? value > than + by : value < than - by;
}

// Of evaluations during training (ps/core/progress/evaluation_schedule.h).
struct EvaluationState {
  uint64_t due = 0;                      // evaluations that have become due
  uint64_t at_epochs = 0, at_steps = 0;  // where the job was with the last one, or when it began
  bool operator==(const EvaluationState&) const = default;
};
ATTUNE_FIELDS(EvaluationState, FIELD_AS("evaluations_due", due, Is::kCount),
              FIELD_AS("evaluated_epochs", at_epochs, Is::kCount), FIELD_AS("evaluated_steps", at_steps, Is::kCount));

}  // namespace attune::ps
