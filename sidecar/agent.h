// The sidecar as a whole: one thread that waits on the socket, on the stream to the operator and on timers, and carries
// out what the relay decides.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/time_source.h"
#include "sidecar/exporter.h"
#include "sidecar/inbox.h"
#include "sidecar/operator_stream.h"
#include "sidecar/process_socket.h"
#include "sidecar/relay/relay.h"
#include "sidecar/shared_metrics.h"
#include "sidecar/usage_meter.h"

namespace attune::sidecar {

struct AgentOptions {
  v1::SidecarHello identity;  // protocol_version included
  std::filesystem::path socket;
  std::string telemetry;     // host:port of the operator; "": metrics only
  std::string token_file;    // "": no token
  std::string authority;     // PEM, for the operator's certificate; "": not encrypted
  std::string metrics_host;  // "": no metrics
  uint16_t metrics_port = 0;
  uint64_t seed = 1;

  // Reads the pod's environment (proto/contract.h). InvalidArgument lists every missing or malformed variable.
  static StatusOr<AgentOptions> FromEnvironment();
};

class Agent {
 public:
  // Fails when the socket cannot be made. Metrics that cannot be served are a warning.
  static StatusOr<std::unique_ptr<Agent>> Create(AgentOptions options, const TimeSource& time);
  ~Agent();

  // Until Terminate was called and what could be delivered within kTerminateTimeout has been. Once. The socket is gone
  // then.
  void Run();
  // From any thread.
  void Terminate();
  uint16_t metrics_port() const { return exporter_ ? exporter_->port() : 0; }

 private:
  Agent(AgentOptions options, const TimeSource& time, std::unique_ptr<ProcessSocket> socket,
        std::unique_ptr<Inbox> inbox);
  void StartMetrics();
  void Wait();
  void HandleSocket();
  void HandleStream();
  void Step(const RelayInput& input);
  void Apply(const RelayOutput& output);
  void LogStreamEnd(const Status& status);
  void PublishCounters();

  const AgentOptions options_;
  const TimeSource& time_;
  const std::unique_ptr<Inbox> inbox_;  // of gRPC's threads and of Terminate
  std::atomic<bool> terminate_{false};

  // Used by Run's thread only.
  std::unique_ptr<ProcessSocket> socket_;  // until Run ends
  uint64_t connection_ = 0;                // of the process whose words the relay has heard last
  Relay relay_;
  UsageMeter meter_;
  MonotonicTime measure_again_at_{}, name_strangers_at_{};
  bool finished_ = false;
  bool outage_logged_ = false;

  SharedMetrics metrics_;

  std::unique_ptr<Exporter> exporter_;      // these two call into the members above,
  std::unique_ptr<OperatorStream> stream_;  // so they go first
};

}  // namespace attune::sidecar
