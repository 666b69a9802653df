#include "sidecar/agent.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "base/log.h"
#include "base/os/file.h"
#include "proto/contract.h"

namespace attune::sidecar {
namespace {

// Longest wait: bounds the harm of a wake-up that went missing.
constexpr Duration kWaitMax = std::chrono::seconds(60);
constexpr Duration kNameStrangersEvery = std::chrono::seconds(10);     // they may come by the thousand
constexpr Duration kMeasureInterval = std::chrono::milliseconds(200);  // a window takes at least a second

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class EnvironmentReader {
 public:
  std::string Required(const char* name) {
    std::string value = Variable(name);
    if (value.empty()) problems_ += std::string(problems_.empty() ? "" : "; ") + name + " is not set";
    return value;
  }
  void Problem(const std::string& text) { problems_ += (problems_.empty() ? "" : "; ") + text; }
  Status status() const {
    if (problems_.empty()) return OkStatus();
    return Error(StatusCode::kInvalidArgument, "environment of the sidecar: " + problems_ +
                                                   ". The operator sets these; attune-sidecar is not started by hand");
  }

 private:
  std::string problems_;
};

ProcessSocket::Admission AdmissionTo(const v1::SidecarHello& identity) {
  return [identity](const v1::ProcessMessage& first) {
    return first.has_hello() ? WhyRefused(first.hello(), identity) : std::string("the process spoke before its hello");
  };
}

RelayOptions MakeRelayOptions(const AgentOptions& options) {
  return {.identity = options.identity, .operator_configured = !options.telemetry.empty(), .seed = options.seed};
}

}  // namespace

StatusOr<AgentOptions> AgentOptions::FromEnvironment() {
  EnvironmentReader environment;
  AgentOptions options;
  v1::SidecarHello& identity = options.identity;
  identity.set_protocol_version(contract::kProtocolVersion);
  identity.set_namespace_(environment.Required(contract::kEnvNamespace));
  identity.set_job(environment.Required(contract::kEnvJob));
  identity.set_job_uid(environment.Required(contract::kEnvJobUid));
  identity.set_pod(environment.Required(contract::kEnvPodName));
  identity.set_pod_uid(environment.Required(contract::kEnvPodUid));
  identity.set_role(environment.Required(contract::kEnvRole));
  const std::string index = environment.Required(contract::kEnvIndex);
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), number);
  if (!index.empty() && (error != std::errc() || end != index.data() + index.size())) {
    environment.Problem(std::string(contract::kEnvIndex) + " is '" + index + "', expected 0, 1, ...");
  }
  identity.set_index(number);
  options.socket = environment.Required(contract::kEnvSidecarSocket);
  options.telemetry = Variable(contract::kEnvTelemetry);
  options.token_file = Variable(contract::kEnvTokenFile);
  options.authority = Variable(contract::kEnvTelemetryCa);
  options.metrics_host = Variable(contract::kEnvPodIp);
  options.metrics_port = contract::kMetricsPort;
  // Any value will do that differs between pods.
  options.seed = std::hash<std::string>()(identity.pod_uid()) ^ static_cast<uint64_t>(getpid());
  RETURN_IF_ERROR(environment.status());
  return options;
}

StatusOr<std::unique_ptr<Agent>> Agent::Create(AgentOptions options, const TimeSource& time) {
  ASSIGN_OR_RETURN(std::unique_ptr<ProcessSocket> socket,
                   ProcessSocket::Listen(options.socket, AdmissionTo(options.identity)));
  ASSIGN_OR_RETURN(std::unique_ptr<Inbox> inbox, Inbox::Create());
  std::unique_ptr<Agent> agent(new Agent(std::move(options), time, std::move(socket), std::move(inbox)));
  agent->StartMetrics();
  return agent;
}

Agent::Agent(AgentOptions options, const TimeSource& time, std::unique_ptr<ProcessSocket> socket,
             std::unique_ptr<Inbox> inbox)
    : options_(std::move(options)),
      time_(time),
      inbox_(std::move(inbox)),
      socket_(std::move(socket)),
      relay_(MakeRelayOptions(options_)) {
  stream_ = OperatorStream::Create(
      {.target = options_.telemetry, .token_file = options_.token_file, .authority = options_.authority},
      [this](uint64_t generation, RelayInput input) { inbox_->Put(generation, std::move(input)); });
}

Agent::~Agent() {
  stream_.reset();
  exporter_.reset();
}

void Agent::StartMetrics() {
  if (options_.metrics_host.empty()) return log::Warn("no address for metrics; continuing without", {});
  const v1::SidecarHello& pod = options_.identity;
  auto exporter = Exporter::Start(options_.metrics_host, options_.metrics_port,
                                  {{"namespace", pod.namespace_()},
                                   {"job", pod.job()},
                                   {"role", pod.role()},
                                   {"index", std::to_string(pod.index())}},
                                  [this] { return metrics_.Values(); });
  if (exporter.ok()) {
    exporter_ = *std::move(exporter);
  } else {
    log::Warn("continuing without metrics", {{"reason", exporter.status()}});
  }
}

void Agent::Run() {
  Step(Tick{});
  while (!finished_) {
    Wait();
    HandleSocket();  // before the request to end, so that a process's last words count
    HandleStream();
    if (terminate_.exchange(false)) Step(TerminateAsked{});
    Step(Tick{});
  }
  stream_->Cancel();
  socket_.reset();
}

void Agent::Terminate() {
  terminate_ = true;
  inbox_->Wake();
}

void Agent::Wait() {
  std::vector<pollfd> waits{{.fd = inbox_->descriptor(), .events = POLLIN, .revents = 0}};
  socket_->AddTo(waits);
  const MonotonicTime now = time_.Now();
  const Duration wait =
      std::clamp(relay_.next_wake() == kNever ? kWaitMax : relay_.next_wake() - now, Duration(0), kWaitMax);
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
  poll(waits.data(), waits.size(), static_cast<int>(milliseconds));
  inbox_->TakeWakeUps();
}

void Agent::HandleSocket() {
  for (SocketEvent& event : socket_->Handle()) {
    if (event.kind == SocketEvent::Kind::kRefused) {  // it is no process of ours, and ours is not disturbed
      if (const MonotonicTime now = time_.Now(); now >= name_strangers_at_) {
        name_strangers_at_ = now + kNameStrangersEvery;
        log::Warn("a stranger at the socket was refused", {{"reason", event.reason}});
      }
      continue;
    }
    connection_ = event.connection;
    switch (event.kind) {
      case SocketEvent::Kind::kRefused:
        break;
      case SocketEvent::Kind::kConnected: {
        log::Info("training process connected", {{"process_id", event.peer_pid}});
        meter_.Watch(event.peer_pid, time_.Now());
        measure_again_at_ = {};
        metrics_.Clear();
        Step(ProcessConnected{});
        break;
      }
      case SocketEvent::Kind::kMessage: {
        ProcessSaid said{.message = std::move(event.message), .usage = std::nullopt};
        if (said.message.has_window() && relay_.process_accepted()) {
          // A process that sends windows without pause must not keep us reading /proc.
          if (const MonotonicTime now = time_.Now(); now >= measure_again_at_) {
            said.usage = meter_.Measure(now);
            measure_again_at_ = now + kMeasureInterval;
          }
          metrics_.Observe(said.message.window(), said.usage);
        }
        Step(said);
        break;
      }
      case SocketEvent::Kind::kGone: {
        if (event.reason.ok()) {
          log::Info("training process closed its connection");
        } else {
          log::Warn("connection to the training process closed", {{"reason", event.reason}});
        }
        metrics_.Clear();
        Step(ProcessGone{});
        break;
      }
    }
  }
}

void Agent::HandleStream() {
  for (const auto& [generation, input] : inbox_->TakeAll()) {
    if (generation != stream_->generation()) continue;
    const bool accepted = relay_.stream_accepted();
    Step(input);
    if (!accepted && relay_.stream_accepted()) {
      outage_logged_ = false;
      log::Info("operator accepted the telemetry stream", {{"operator", options_.telemetry}});
    }
    if (const auto* ended = std::get_if<StreamEnded>(&input)) LogStreamEnd(ended->status);
  }
}

// Once per outage: an operator that is away for an hour is one line, not a hundred.
void Agent::LogStreamEnd(const Status& status) {
  if (finished_ || std::exchange(outage_logged_, true)) return;
  log::Warn("telemetry stream ended; training continues, trying again with growing pauses",
            {{"operator", options_.telemetry}, {"reason", status}});
}

void Agent::Step(const RelayInput& input) {
  if (finished_) return;
  const RelayOutput output = relay_.Step(input, time_.Now());
  PublishCounters();  // first: who sees the effect finds it counted
  Apply(output);
}

void Agent::Apply(const RelayOutput& output) {
  for (const v1::ProcessDirective& directive : output.to_process) socket_->Send(connection_, directive);
  if (!output.refusal.empty()) log::Warn("training process refused", {{"reason", output.refusal}});
  if (output.close_process) socket_->Close(connection_);
  if (output.cancel_stream) stream_->Cancel();
  if (output.open_stream) stream_->Open();
  if (output.to_operator) stream_->Send(*output.to_operator);
  if (output.end_stream) stream_->EndWrites();
  finished_ = output.finished;
}

void Agent::PublishCounters() {
  metrics_.SetCounters({.process_connected = relay_.process_accepted(),
                        .stream_connected = relay_.stream_accepted(),
                        .sent_reports = relay_.sent_reports(),
                        .dropped_reports = relay_.dropped_reports(),
                        .buffered_reports = relay_.buffered_reports()});
}

}  // namespace attune::sidecar
