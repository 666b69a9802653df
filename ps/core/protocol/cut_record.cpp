#include "ps/core/protocol/cut_record.h"

#include <algorithm>

#include "ps/core/protocol/limits.h"

namespace attune::ps {
Status Validate(const CutRecord::DataSet& record) {
  const auto bad = [&](const std::string& what) {
    return Error(StatusCode::kDataLoss, "data set \"" + record.name + "\" of a checkpoint: " + what);
  };
  if (record.items == 0) return bad("it has no items");
  if (record.finished_epochs > kNumberMax) return bad("more epochs than a job can have");
  for (const CutRecord::OpenLease& lease : record.open) {
    const bool over = lease.epoch < record.finished_epochs && lease.position < lease.end;
    if (over || lease.begin > lease.position || lease.position > lease.end || lease.end > record.items) {
      return bad("a lease that is none");
    }
  }
  // What is done and what is leased, of epochs not finished: disjoint, or items would be counted twice.
  std::vector<ItemRange> ranges;
  for (const CutRecord::DoneRange& done : record.done) {
    const bool finished = done.epoch < record.finished_epochs;
    if (finished || done.begin >= done.end || done.end > record.items) return bad("a range of items that is none");
    ranges.push_back({done.epoch, done.begin, done.end});
  }
  for (const CutRecord::OpenLease& lease : record.open) {
    if (lease.epoch >= record.finished_epochs) ranges.push_back({lease.epoch, lease.begin, lease.end});
  }
  std::ranges::sort(ranges);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint64_t epoch = ranges[i].epoch;
    if (epoch >= kNumberMax || epoch - record.finished_epochs >= kOpenEpochsMax) {
      return bad("an epoch that cannot have begun");
    }
    if (i > 0 && ranges[i].epoch == ranges[i - 1].epoch && ranges[i].begin < ranges[i - 1].end) {
      return bad("items that are done or leased twice");
    }
  }
  return OkStatus();
}

}  // namespace attune::ps
