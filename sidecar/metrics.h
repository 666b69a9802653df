// What the sidecar shows to Prometheus: every metric's name, kind and help in one table, and the values made from the
// last window and from sums over all windows of the present process. Pure; exporter.h serves it. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/v1/telemetry.pb.h"

namespace attune::sidecar {

enum class MetricKind { kGauge, kCounter };

// Names: attune_<entity>_<metric>_<unit>. Counters start again from 0 with the process.
struct MetricInfo {
  std::string_view name;
  MetricKind kind;
  std::string_view help;
};

// In the order they are served. tests/sidecar/metrics.golden holds the same for people and for review.
std::span<const MetricInfo> MetricTable();

struct MetricValue {
  std::string_view name;  // of the table
  double value = 0;
  std::string_view label = {};  // percentile (quantile is for summaries alone), place, cause, metric; "" for none
  std::string of = {};          // its value: "50", "fetched", "refresh", the name that a program gave to a figure
};

// The state of the sidecar itself.
struct RelayCounters {
  bool process_connected = false;
  bool stream_connected = false;
  uint64_t sent_reports = 0;
  uint64_t dropped_reports = 0;
  uint64_t buffered_reports = 0;
};

class Metrics {
 public:
  // The process is another one now, or none: everything about the old one goes.
  void Clear();
  void Observe(const v1::WindowReport& window, const std::optional<v1::ProcessUsage>& usage);
  // Only what is known: a server's sidecar shows nothing of workers, and no process, nothing of a process.
  std::vector<MetricValue> Values(const RelayCounters& relay) const;

 private:
  void ObserveWorker(const v1::WorkerWindow& window);
  void ObserveServer(const v1::ServerWindow& window);

  std::optional<v1::WindowReport> last_;
  std::optional<v1::ProcessUsage> last_usage_;
  v1::WorkerWindow worker_sums_;  // the fields that count within a window, summed
  v1::ServerWindow server_sums_;
  double cpu_seconds_ = 0;
  double throttled_seconds_ = 0;
  uint64_t network_received_ = 0, network_sent_ = 0;  // bytes
};

}  // namespace attune::sidecar
