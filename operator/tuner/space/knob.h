// Knobs: everything about a running job that may be changed. One record per knob is the only source for the search
// space, the resource definition, command line help and documentation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/sync_mode.h"

namespace attune::tuner {

// What it takes to change a knob, cheapest first: the rungs of the reconfiguration ladder.
enum class CostClass {
  kLive,        // a directive to running processes
  kRelocation,  // rows move between servers while training continues
  kResize,      // a pod's limits change in place
  kPods,        // pods are added (they need time to start; the job runs on meanwhile) or removed
  kPodMove,     // a pod is replaced on another machine
};
std::string_view Name(CostClass cost);
std::optional<CostClass> ParseCostClass(std::string_view name);

// Who may change a knob without being asked.
enum class ChangedBy { kTuner, kUser };

struct KnobRecord {
  std::string_view name;
  std::string_view unit;
  int low = 1, high = 1;  // widest range accepted anywhere; a job's policy narrows it
  int initial = 1;        // without a manifest that says otherwise
  CostClass cost = CostClass::kLive;
  ChangedBy changed_by = ChangedBy::kTuner;
  bool steered = false;              // the operator can change it in a running job
  std::span<const int> levels = {};  // the values tried, between a range's ends; empty: all of them
  double level_factor = 0;           // or each about this much above the one before; 0: no such levels
  std::string_view effect;           // one sentence for help and documentation
};

std::span<const KnobRecord> Knobs();
const KnobRecord* FindKnob(std::string_view name);  // nullptr: not a knob of Attune

inline constexpr int kSlackAsync = 1'000'000;  // of the knob slack: no worker waits
// A mode as a value of that knob, and back.
int SlackOf(SyncMode mode);
SyncMode SyncModeOf(int slack);
// A value as people write it: "4"; of slack "bsp", "ssp:4", "async".
std::string ValueText(std::string_view knob, int value);
// The other way round; nothing for what is no value of that knob.
std::optional<int> ParseValue(const KnobRecord& knob, std::string_view text);

}  // namespace attune::tuner
