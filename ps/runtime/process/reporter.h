// The training process's side of telemetry: one thread that sends a report per window (>= 1 s) to the sidecar over a
// Unix socket and hears directives. It never blocks or slows training: the process only fills counters, and a report
// that does not fit the socket is dropped (its sequence number is used up, so the gap shows). Without a sidecar it
// tries again quietly. Framing and messages: proto/attune/v1/telemetry.proto.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attune/ps/session.h"
#include "base/status.h"
#include "base/sync_mode.h"
#include "base/time_source.h"
#include "ps/core/keys/seen_versions.h"
#include "ps/core/progress/metric_board.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/runtime/process/directives.h"
#include "ps/runtime/process/window.h"

namespace attune::ps {

struct WorkerTelemetry {
  WorkerWindowSummary window;
  uint64_t clock = 0;
  uint32_t pushes_in_flight = 0;
  Staleness staleness;  // of the window
  uint64_t epoch = 0;
  std::string sample_unit;
  uint32_t threads = 0, threads_max = 0;  // 0: the program chooses them itself
  Duration coordinator_silent{};          // since the lease that its answers renew ran out
};

// Counters are those of the window, gauges those of its end.
struct ServerTelemetry {
  uint64_t rows = 0;
  uint64_t row_bytes = 0;
  uint64_t pulls = 0;
  uint64_t pushes = 0;
  uint64_t pulled_keys = 0;
  uint64_t pushed_keys = 0;
  uint64_t duplicate_pushes = 0;
  uint32_t connections = 0;
  uint64_t bytes_received = 0;
  uint64_t bytes_sent = 0;
  Duration coordinator_silent{};  // since the coordinator's last answer, however long the window
  uint64_t map_version = 0;
  bool goal_reached = false;
};

// Whether the coordinator that this process runs may act (ps/core/membership/leader_lease.h).
struct LeaderTelemetry {
  uint64_t term = 0;
  bool held = true;
  uint64_t map_version = 0;
  std::vector<uint32_t> wanted;  // voters to be confirmed with; empty: no need
  bool operator==(const LeaderTelemetry&) const = default;
};

// Where the job stands, said by the process that runs the coordinator.
struct JobTelemetry {
  std::string data_set;
  uint64_t epoch = 0;
  uint64_t epochs = 0;
  uint64_t items = 0;
  uint64_t items_done = 0;
  uint64_t items_total = 0;
  uint64_t reprocessed_items = 0;
  uint32_t servers = 0;
  uint32_t workers = 0;
  uint64_t floor_clock = 0;
  uint64_t steps = 0;          // of all workers; what a goal in steps counts
  double trained_seconds = 0;  // what a limit of the training time counts
  bool goal_reached = false;
  struct Closing {
    bool done = false, declared = false;
    std::string data_set;
    uint64_t items_left = 0;
  };
  std::optional<Closing> closing;  // once the goal is reached
  std::string goal_reason;         // likewise
  std::vector<MetricState> metrics;
  std::optional<BestCheckpoint> best_checkpoint{};

  struct Abilities {
    bool elastic_servers = false, server_recovery = false, coordinator_failover = false, synchronization_modes = false,
         checkpoints = false;
  };
  struct Server {
    enum class State { kServing, kJoining, kDraining, kDrained };
    uint32_t index = 0;
    State state = State::kServing;
  };
  struct Relocation {
    uint64_t bytes_left = 0;
    double rows_per_second = 0;
  };
  struct Checkpoint {
    std::string directory;
    WallTime complete_at;
    uint64_t bytes = 0, rows = 0;
    uint64_t number = 0, step = 0;
  };
  struct Recovery {
    uint64_t count = 0;
    // Of what had no copy, all recoveries together: rows that went back to a checkpoint or their first value, the
    // latter of these, and shards; then the checkpoint the last one took, its step, and the steps lost.
    uint64_t restored_rows = 0, rows_begun_anew = 0, restored_shards = 0;
    uint64_t checkpoint = 0, step = 0, steps_lost = 0;
    bool model_lost = false;
  };
  Abilities abilities;
  std::optional<SyncMode> synchronization;  // in force
  std::optional<uint32_t> slowest_worker;   // index
  std::vector<Server> server_states;
  std::vector<uint32_t> lost_pods;  // of members declared lost, the last one first
  std::optional<Relocation> relocation;
  std::optional<Checkpoint> checkpoint;
  std::optional<Recovery> recovery;
  uint64_t term = 0;
};

struct TelemetryWindow {
  Duration duration{};
  std::optional<WorkerTelemetry> worker;
  std::optional<ServerTelemetry> server;
  std::optional<JobTelemetry> job;
  std::optional<LeaderTelemetry> leader_lease;  // also while the coordinator takes over
};

struct ReporterOptions {
  std::string socket_path;
  std::string job_uid;
  std::string role;
  uint32_t index = 0;
  Duration window = std::chrono::seconds(1);  // at least one second outside of tests
};

class Reporter {
 public:
  struct Callbacks {
    // Closes the window and returns its figures. Called on the reporter's thread, once per window.
    std::function<TelemetryWindow(MonotonicTime now)> take_window;
    // The operator asks this process to leave. An error is sent back as a refusal. Called on the reporter's thread.
    std::function<Status(const std::string& reason)> drain;
    // The operator asks that this worker computes with so many threads; empty where no worker runs. An error is sent
    // back as a refusal. Called on the reporter's thread.
    std::function<Status(uint32_t threads)> threads;
    // The operator asks something of the coordinator; empty where none can run. Called on the reporter's thread; the
    // answer may come later and from another thread.
    std::function<void(const Command& command, AnswerCommand answer)> command;
  };

  // Starts the thread; an absent sidecar is no error. `time` must outlive the reporter. Null when `socket_path` is
  // empty.
  static std::unique_ptr<Reporter> Start(const ReporterOptions& options, const TimeSource& time, Callbacks callbacks);
  // Sends the last window if the socket takes it at once, then ends the thread.
  virtual ~Reporter() = default;

  // Hands the job's result to the sidecar, after the window so far. Waits for the sidecar at most `timeout`:
  // Unavailable when it was not there in time.
  virtual Status Finish(const FinalResult& result, Duration timeout) = 0;

  // Something is to be known at once: ends the window early, though not before kSoon. Any thread.
  virtual void ReportSoon() = 0;
  static constexpr Duration kSoon = std::chrono::milliseconds(100);
};

}  // namespace attune::ps
