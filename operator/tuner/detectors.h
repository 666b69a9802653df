// Detectors: something is wrong with a part of a job, and which rung of the ladder would help. Each is a pure function
// of recent telemetry; none acts. Thresholds are named beside the findings they produce.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::tuner {

enum class Symptom { kHotServer, kStragglingWorker, kMemoryLimit, kStarvedWorkers, kStalledLoss, kNotANumber };
std::string_view Name(Symptom symptom);

// What a finding asks for, cheapest first.
enum class Remedy {
  kRelocateRows,  // away from the hot server
  kMoreServers,
  kMorePodMemory,   // resize in place, else a pod with more
  kMovePod,         // to another machine
  kCheckpointStop,  // keep the last good checkpoint and warn the user
  kTellUser,
};
std::string_view Name(Remedy remedy);

struct Finding {
  Symptom symptom = Symptom::kHotServer;
  Remedy remedy = Remedy::kTellUser;
  int node = -1;     // index of the server or worker; -1: the whole job
  double value = 0;  // what was measured, in the units of the text
  std::string text;  // what, how much, what to do
};

// One node in one window. Shares are of the node's own limit.
struct NodeWindow {
  double time = 0;          // end, seconds
  double cpu = 0;           // share, 0..1
  double memory = 0;        // share
  double requests = 0;      // per second, servers
  double step_seconds = 0;  // mean, workers, without waiting for the pace
  double wait_share = 0;    // of a step spent waiting for rows, workers
  int node = -1;            // which server or worker; -1: by its place among the traces
};
using NodeTrace = std::vector<NodeWindow>;  // by time

// A server is hot when for kHotWindows it is above kHotCpu and answers kHotRatio times the median server's requests:
// rows move away from it. All servers busy together ask for one more.
inline constexpr double kHotCpu = 0.85, kHotRatio = 1.5;
inline constexpr size_t kHotWindows = 3;
std::vector<Finding> DetectHotServers(std::span<const NodeTrace> servers);

// A worker straggles when its steps take kStraggleRatio times as long as the median worker's for kStraggleWindows.
inline constexpr double kStraggleRatio = 1.5;
inline constexpr size_t kStraggleWindows = 4;
std::vector<Finding> DetectStragglers(std::span<const NodeTrace> workers);

// Memory that grows steadily (Theil-Sen slope) reaches its limit within kMemorySeconds, or is above kMemoryShare now.
inline constexpr double kMemoryShare = 0.95, kMemorySeconds = 600;
inline constexpr size_t kMemoryWindows = 6;
std::vector<Finding> DetectMemoryLimit(std::span<const NodeTrace> nodes, bool servers);

// Workers starve when the median one waits for rows kStarvedShare of its step while servers are busy.
inline constexpr double kStarvedShare = 0.6;
inline constexpr size_t kStarvedWindows = 4;
std::optional<Finding> DetectStarvedWorkers(std::span<const NodeTrace> workers, std::span<const NodeTrace> servers);

// The loss stalls when the later half of the windows is not below the earlier half by more than chance allows
// (Mann-Whitney, one-sided 95 %), although it fell before. `losses` are means of successive windows of about equal
// length.
inline constexpr size_t kStalledWindows = 24;
std::optional<Finding> DetectStalledLoss(std::span<const double> losses);

// Loss that is not a number, or that rose to kExploded times its least value and stays there for three windows.
inline constexpr double kExploded = 10;
std::optional<Finding> DetectNotANumber(std::span<const double> losses);

}  // namespace attune::tuner
