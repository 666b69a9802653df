// Where a job stood when its rows were copied: what a resumed job needs to continue without repeating or omitting data
// (docs/protocol.md#checkpoints). Plain values; the coordinator fills it and starts from it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "proto/metric_name.h"
#include "ps/core/protocol/field_list.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/progress_state.h"

namespace attune::ps {

// The checkpoint with the best value of the metric that spec.checkpoint.best names, as far as one was written.
struct BestCheckpoint {
  std::string metric;
  bool maximize = false;
  double value = 0;  // the last that was reported when its rows were copied
  MetricPlace at;    // where the job was when that came
  // Where it lies. "" in a manifest: in the manifest's directory, wherever that is moved.
  std::string directory;
  uint64_t checkpoint = 0;  // its number there
  bool operator==(const BestCheckpoint&) const = default;
};
ATTUNE_FIELDS(BestCheckpoint, FIELD(metric, AtMost(contract::kMetricNameBytesMax, Is::kMetricName)), FIELD(maximize),
              FIELD(value, Is::kFinite), FIELD(at), FIELD(directory, AtMost(kPathBytesMax)),
              FIELD(checkpoint, Is::kCount));

// Items [begin, end) of an epoch.
struct ItemRange {
  uint64_t epoch = 0, begin = 0, end = 0;
  auto operator<=>(const ItemRange&) const = default;
};

struct CutRecord {
  // Items [begin, end) of an epoch whose pushes are all in the rows.
  struct DoneRange {
    uint64_t epoch = 0, begin = 0, end = 0;
    bool operator==(const DoneRange&) const = default;
  };
  // A lease a worker held: its items below `position` are in the rows. With bsp and ssp none of the others is; with
  // async some may be, and may be processed a second time.
  struct OpenLease {
    uint64_t epoch = 0, begin = 0, end = 0, position = 0;
    bool operator==(const OpenLease&) const = default;
  };
  struct DataSet {
    std::string name;
    uint64_t items = 0, epochs = 0, lease_items = 0;  // its options; epochs 0: no last one
    uint64_t finished_epochs = 0;                     // all items of epochs below are done
    std::vector<DoneRange> done;                      // of later epochs
    std::vector<OpenLease> open;
    uint64_t reprocessed_items = 0;  // so far
    bool operator==(const DataSet&) const = default;
  };

  std::string synchronization;  // "bsp", "ssp:4", "async"; empty: rows saved by a program, not cut by the coordinator
  uint64_t clock = 0;           // X: the rows hold all pushes of steps below it and, but for async, none of later ones
  uint64_t steps = 0;           // of all workers together
  double seconds = 0;           // the job had trained
  std::vector<DataSet> data_sets;
  std::vector<MetricState> metrics{};    // that programs had reported, and what goals count of them
  std::optional<BestCheckpoint> best{};  // so far: another one, or this one when it has its number
  bool operator==(const CutRecord&) const = default;
};
ATTUNE_FIELDS(CutRecord::DoneRange, FIELD(epoch), FIELD(begin), FIELD(end));
ATTUNE_FIELDS(CutRecord::OpenLease, FIELD(epoch), FIELD(begin), FIELD(end), FIELD(position));
ATTUNE_FIELDS(CutRecord::DataSet, FIELD(name, AtMost(kNameBytesMax)), FIELD(items, Is::kCount),
              FIELD(epochs, Is::kCount), FIELD(lease_items, Is::kCount), FIELD(finished_epochs, Is::kCount),
              FIELD(done, AtMost(kDoneRangesMax)), FIELD(open, AtMost(kOpenLeasesMax)),
              FIELD(reprocessed_items, Is::kCount));
ATTUNE_FIELDS(CutRecord, FIELD(synchronization, AtMost(kNameBytesMax)), FIELD(clock, Is::kCount),
              FIELD(steps, Is::kCount), FIELD(seconds, Is::kSeconds), FIELD(data_sets, AtMost(kDataSetsMax)),
              FIELD(metrics, AtMost(contract::kJobMetricsMax)), FIELD(best));

// A checkpoint rows can be taken from.
struct RestorePoint {
  std::string directory;
  uint64_t checkpoint = 0;  // its number; 0: there is none
  uint64_t clock = 0;       // where it was cut
  bool operator==(const RestorePoint&) const = default;
};
ATTUNE_FIELDS(RestorePoint, FIELD(directory, AtMost(kPathBytesMax)), FIELD(checkpoint), FIELD(clock));

// For records read: ranges within the items, in order, of epochs not finished, none twice.
Status Validate(const CutRecord::DataSet& record);

}  // namespace attune::ps
