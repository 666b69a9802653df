// Drives a ServerCore: row messages over TCP, control messages over the coordinator's stream, checkpoints written and
// loaded on a thread of their own. Everything else happens on one loop thread, each input to completion.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/server/server_core.h"
#include "ps/core/trace/traced_server.h"
#include "ps/runtime/control/coordinator_client.h"
#include "ps/runtime/control/coordinator_runtime.h"
#include "ps/runtime/process/end_latch.h"
#include "ps/runtime/process/rejection_log.h"
#include "ps/runtime/process/reporter_slot.h"
#include "ps/runtime/server/checkpoint_io.h"
#include "ps/runtime/server/hosted_coordinator.h"
#include "ps/runtime/server/server_window.h"
#include "ps/runtime/server/step_alarm.h"
#include "ps/store/memory_budget.h"
#include "ps/transport/event_loop.h"
#include "ps/transport/tcp/tcp_transport.h"

namespace attune::ps {

class ServerRuntime {
 public:
  struct Options {
    std::string job_uid;
    std::string pod_uid;  // by which the platform knows this process; "": started by hand
    std::string machine;  // that it runs on, as the platform names it; "": not known
    uint32_t index = 0;
    std::string bind_address = "127.0.0.1";
    uint16_t port = 0;        // of the data plane; 0: any
    std::string coordinator;  // host:port; when it runs here it is known once that has begun
    std::optional<CoordinatorRuntime::Options> coordinator_here;
    // Where the coordinator runs: checkpoints, one of which the job continues from; empty: none. Every server then
    // loads the rows of its shards from it.
    std::string load_directory;
    std::optional<uint64_t> load_checkpoint;  // its number; else the newest that is whole
    bool load_best = false;                   // or the one that is marked as the best
    // Of a coordinator that this server is to run later, when another one is lost or leaves.
    uint16_t coordinator_port = 0;
    uint32_t retained_checkpoints = kRetainedDefault;
    uint64_t checkpoint_bytes_per_second = 0;  // written at most; 0: no limit
    std::string checkpoint_directory;          // for checkpoints that are asked for without one
    std::string sidecar_socket;                // empty: no telemetry
    std::string token;                         // the job's secret; empty: it has none
    std::string tls_directory;                 // certificates of the job (ps/transport/security/tls.h); empty: no TLS
    bool encrypted = false;                    // rows in TLS by certificates that the token gives
    bool shared_memory = true;                 // with workers on this machine
    uint64_t table_bytes_max = 0;              // of all rows and copies; 0: what the container's limit leaves
  };

  static StatusOr<std::unique_ptr<ServerRuntime>> Start(const Options& options, const TimeSource& time);
  ~ServerRuntime();

  // Blocks until the job has finished (OK), cannot continue (its error), or Stop was called (Cancelled).
  Status Wait() { return end_.Wait(); }
  // Any thread.
  void Stop(const std::string& reason) { end_.End(Error(StatusCode::kCancelled, reason)); }

  const std::string& data_address() const { return transport_->address(); }
  // Where the job's coordinator was when this server began.
  const std::string& coordinator_address() const { return options_.coordinator; }
  ServerCounters counters() const;
  // Traffic with the nodes linked to this one, at most `links_max` of them.
  std::vector<LinkCounters> links(size_t links_max) const { return transport_->links(links_max); }
  // Rows of all tables held here.
  uint64_t row_count() const;

 private:
  ServerRuntime(const Options& options, const TimeSource& time);
  Status Open();
  Status OpenCoordinator(const ControlSecurity& security);
  Transport::Events TransportEvents();
  void StartReporter();
  ServerOptions CoreOptions();
  StatusOr<std::unique_ptr<TableStore>> NewStore(const TableSpec& spec);

  void Load(const LoadOrder& order);
  void Restore(const RestoreOrder& order);

  void Step(ServerInput input);
  void WriteSnapshot(const SnapshotOrder& order);
  void OnCommand(const Command& command, const AnswerCommand& answer);
  StatusOr<std::string> Host(const HostCoordinator& wanted);
  void EndCoordinatorBelow(uint32_t term);
  v1::WindowReport TakeWindow(MonotonicTime now);
  Status BeginTrace(const std::string& table, uint64_t key);
  std::vector<std::string> EndTrace();
  void AddTables(MonotonicTime now, ServerFigures& figures) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Options options_;
  const TimeSource& time_;
  MemoryBudget memory_;  // of all tables
  std::unique_ptr<CheckpointIo> checkpoints_;

  mutable Mutex mutex_;
  std::unique_ptr<TracedServer> core_ ABSL_GUARDED_BY(mutex_) ABSL_PT_GUARDED_BY(mutex_);

  EndLatch end_;
  RejectionLog rejections_;  // of the loop
  ServerWindow window_;      // of the reporter's thread
  HostedCoordinator hosted_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<StepAlarm> alarm_;
  std::unique_ptr<TcpTransport> transport_;
  std::unique_ptr<CoordinatorClient> coordinator_;
  ReporterSlot reporter_;
};

}  // namespace attune::ps
