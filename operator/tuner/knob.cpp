#include "operator/tuner/knob.h"

#include <array>

namespace attune::tuner {
namespace {

using enum CostClass;
using enum ChangedBy;

constexpr std::array kKnobs = {
    KnobRecord{"servers", "pods", 1, 256, 1, kRelocation, kTuner,
               "Servers hold the rows; more of them answer more pulls and pushes at once."},
    KnobRecord{"workers", "pods", 1, 1024, 1, kPods, kTuner,
               "Workers compute gradients; more of them make more updates and read staler rows."},
    KnobRecord{"threads", "threads", 1, 256, 1, kLive, kTuner, "Threads that one worker computes with."},
    KnobRecord{"server_millicores", "1/1000 core", 50, 256'000, 1000, kResize, kTuner, "CPU limit of one server."},
    KnobRecord{"worker_millicores", "1/1000 core", 50, 256'000, 1000, kResize, kTuner, "CPU limit of one worker."},
    KnobRecord{"server_memory_mib", "MiB", 64, 4'194'304, 1024, kResize, kTuner, "Memory limit of one server."},
    KnobRecord{"worker_memory_mib", "MiB", 64, 4'194'304, 1024, kResize, kTuner, "Memory limit of one worker."},
    KnobRecord{"slack", "clocks", 0, 1'000'000, 1'000'000, kLive, kTuner,
               "Lead of the fastest over the slowest worker: 0 is BSP, the maximum is Async."},
    KnobRecord{"learners", "learners", 1, 64, 1, kLive, kTuner, "Model replicas trained inside one worker."},
    KnobRecord{"backups", "servers", 0, 1, 0, kRelocation, kUser, "Second copies of every shard, kept for safety."},
};

constexpr std::array<std::string_view, 5> kCostNames = {"live", "relocation", "resize", "pods", "pod_move"};

}  // namespace

std::string_view Name(CostClass cost) { return kCostNames[static_cast<size_t>(cost)]; }

std::optional<CostClass> ParseCostClass(std::string_view name) {
  for (size_t i = 0; i < kCostNames.size(); ++i) {
    if (kCostNames[i] == name) return static_cast<CostClass>(i);
  }
  return std::nullopt;
}

std::span<const KnobRecord> Knobs() { return kKnobs; }

const KnobRecord* FindKnob(std::string_view name) {
  for (const KnobRecord& knob : kKnobs) {
    if (knob.name == name) return &knob;
  }
  return nullptr;
}

}  // namespace attune::tuner
