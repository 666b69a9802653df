#include "operator/local/platform.h"

#include "base/log.h"
#include "operator/api/training_job.h"
#include "operator/local/api/memory_api.h"
#include "operator/local/api/rules/identity.h"
#include "operator/local/containers/resource_limits.h"
#include "operator/local/nodes/node_agent.h"
#include "operator/local/nodes/run_directories.h"
#include "operator/local/rest/api_server.h"

namespace attune::local {
namespace {

constexpr std::chrono::seconds kStopGrace{4};
constexpr size_t kTokenBytes = 24;

// What the CRD's schema refuses on a cluster, with the same field paths.
Status ValidateTrainingJob(const kube::Json& object) {
  const api::ParsedJob parsed = api::ParseTrainingJob(object);
  if (parsed.problems.empty()) return OkStatus();
  std::string text = "TrainingJob.attune.dev \"" + std::string(kube::Name(object)) + "\" is invalid: ";
  for (size_t i = 0; i < parsed.problems.size(); ++i) text += (i == 0 ? "" : "; ") + api::ToString(parsed.problems[i]);
  return Error(StatusCode::kInvalidArgument, text);
}

class LocalPlatform final : public Platform {
 public:
  LocalPlatform(const PlatformOptions& options, const TimeSource& time)
      : options_(options), api_(time, {.kinds = {TrainingJobKind(ValidateTrainingJob)}}) {}

  Status Begin(const TimeSource& time) {
    RETURN_IF_ERROR(CheckCoreLimits(options_.cores));  // better now than in an Event of every pod
    std::error_code error;
    options_.run_directory = std::filesystem::absolute(options_.run_directory, error);
    if (options_.token.empty()) options_.token = RandomHex(kTokenBytes);
    NodeAgentOptions agent;
    agent.run_directory = options_.run_directory;
    agent.program_directories = options_.program_directories;
    agent.shim_command = options_.shim_command;
    agent.cores = options_.cores;
    ASSIGN_OR_RETURN(agent_, NodeAgent::Start(agent, api_, time));
    if (options_.listen.empty()) return OkStatus();
    ApiServerOptions server;
    server.listen = options_.listen;
    server.token = options_.token;
    server.kinds = api_.kinds();
    ASSIGN_OR_RETURN(server_, ApiServer::Start(server, api_));
    return OkStatus();
  }

  // Processes first, so that their last words still find the API.
  ~LocalPlatform() override {
    Stop(kStopGrace);
    server_.reset();
    agent_.reset();
  }

  void Stop(Duration grace) override {
    if (agent_ != nullptr) agent_->Stop(grace);
  }

  kube::Api& api() override { return api_; }
  std::string url() const override { return server_ == nullptr ? "" : server_->url(); }
  std::string token() const override { return options_.token; }
  std::filesystem::path pod_directory(const kube::ObjectKey& pod) const override {
    return PodDirectory(options_.run_directory, pod);
  }

 private:
  PlatformOptions options_;
  MemoryApi api_;
  std::unique_ptr<NodeAgent> agent_;
  std::unique_ptr<ApiServer> server_;
};

}  // namespace

Status CheckCoreLimits(const CoreLimits& cores) {
  if (cores.empty()) return OkStatus();
  ASSIGN_OR_RETURN(PodLimits permitted, PodLimits::Make(1, "try-" + RandomHex(8)));
  permitted.Remove();
  return OkStatus();
}

StatusOr<std::unique_ptr<Platform>> Platform::Start(const PlatformOptions& options, const TimeSource& time) {
  if (options.run_directory.empty())
    return Error(StatusCode::kInvalidArgument, "the local platform needs a run directory");
  auto platform = std::make_unique<LocalPlatform>(options, time);
  RETURN_IF_ERROR(platform->Begin(time));
  return platform;
}

}  // namespace attune::local
