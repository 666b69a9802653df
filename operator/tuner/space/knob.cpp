#include "operator/tuner/space/knob.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace attune::tuner {
namespace {

using enum CostClass;
using enum ChangedBy;

// What matters of a bound is whether the fastest may get away from the slowest by none, few or many steps.
constexpr std::array kSlackLevels = {0, 1, 2, 4, 8, 16, 64, kSlackAsync};

constexpr double kResourceFactor = 1.25;  // a limit a quarter off is as good as right

constexpr std::array kKnobs = {
    KnobRecord{.name = "servers",
               .unit = "pods",
               .high = 256,
               .cost = kRelocation,
               .steered = true,
               .effect = "Servers hold the rows; more of them answer more pulls and pushes at once."},
    KnobRecord{.name = "workers",
               .unit = "pods",
               .high = 1024,
               .cost = kPods,
               .steered = true,
               .effect = "Workers compute gradients; more of them make more updates and read staler rows."},
    KnobRecord{.name = "threads",
               .unit = "threads",
               .high = 256,
               .steered = true,
               .effect = "Threads that one worker computes with."},
    KnobRecord{.name = "server_millicores",
               .unit = "1/1000 core",
               .low = 50,
               .high = 256'000,
               .initial = 1000,
               .cost = kResize,
               .level_factor = kResourceFactor,
               .effect = "CPU limit of one server."},
    KnobRecord{.name = "worker_millicores",
               .unit = "1/1000 core",
               .low = 50,
               .high = 256'000,
               .initial = 1000,
               .cost = kResize,
               .level_factor = kResourceFactor,
               .effect = "CPU limit of one worker."},
    KnobRecord{.name = "server_memory_mib",
               .unit = "MiB",
               .low = 64,
               .high = 4'194'304,
               .initial = 1024,
               .cost = kResize,
               .level_factor = kResourceFactor,
               .effect = "Memory limit of one server."},
    KnobRecord{.name = "worker_memory_mib",
               .unit = "MiB",
               .low = 64,
               .high = 4'194'304,
               .initial = 1024,
               .cost = kResize,
               .level_factor = kResourceFactor,
               .effect = "Memory limit of one worker."},
    KnobRecord{.name = "slack",
               .unit = "clocks",
               .low = 0,
               .high = kSlackAsync,
               .initial = kSlackAsync,
               .steered = true,
               .levels = kSlackLevels,
               .effect = "Lead of the fastest over the slowest worker: 0 is BSP, the maximum is Async."},
    KnobRecord{
        .name = "learners", .unit = "learners", .high = 64, .effect = "Model replicas trained inside one worker."},
    KnobRecord{.name = "backups",
               .unit = "servers",
               .low = 0,
               .initial = 0,
               .cost = kRelocation,
               .changed_by = kUser,
               .effect = "Second copies of every shard, kept for safety."},
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

int SlackOf(SyncMode mode) {
  return mode.bounded() ? static_cast<int>(std::min<uint32_t>(*mode.slack, kSlackAsync)) : kSlackAsync;
}

SyncMode SyncModeOf(int slack) {
  return slack >= kSlackAsync ? SyncMode::Async() : SyncMode::Ssp(static_cast<uint32_t>(std::max(slack, 0)));
}

std::string ValueText(std::string_view knob, int value) {
  if (knob != "slack") return std::to_string(value);
  return ToString(SyncModeOf(value));
}

std::optional<int> ParseValue(const KnobRecord& knob, std::string_view text) {
  if (knob.name == "slack") {
    if (const StatusOr<SyncMode> mode = ParseSyncMode(text); mode.ok()) return SlackOf(*mode);
  }
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < knob.low || value > knob.high)
    return std::nullopt;
  return value;
}

}  // namespace attune::tuner
