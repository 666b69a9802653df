// Two runs side by side: what was different about them, and what came of it. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/display/table.h"
#include "cli/runs/run_record.h"
#include "operator/kube/object.h"

namespace attune::cli {

struct Difference {
  std::string what, first, second;  // "" : absent there
};

// Every field of two values that is not the same in both, by its path ("spec.workers.replicas"), in order.
std::vector<Difference> DifferencesOf(const kube::Json& first, const kube::Json& second);

struct ComparedRun {
  RunRecord record;
  std::vector<kube::Json> jobs;  // objects with defaults, as they were run
};
struct Comparison {
  std::vector<Difference> inputs;    // manifest, arguments, machine, version
  std::vector<Difference> outcomes;  // always all that either has; the second with its change in percent
};
Comparison Compare(const ComparedRun& first, const ComparedRun& second);
std::string ComparisonText(const ComparedRun& first, const ComparedRun& second, const Comparison& comparison);
kube::Json ToJson(const ComparedRun& first, const ComparedRun& second, const Comparison& comparison);

// The list of `attune runs`, at a time (seconds since 1970).
Table RunTable(const std::vector<RunRecord>& runs, double now);
// `attune runs show`.
std::string RunText(const RunRecord& record, uint64_t bytes, double now);
// "2 x 3, BSP, 2 threads": servers, workers, pace.
std::string SettingText(const RunJob& job);

}  // namespace attune::cli
