#include "ps/server/server_command.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <limits>

#include "base/log.h"
#include "base/number_text.h"
#include "base/os/boot_time.h"
#include "base/os/signal_watcher.h"
#include "base/version.h"
#include "proto/contract.h"
#include "proto/metric_name.h"
#include "ps/runtime/process/environment.h"
#include "ps/runtime/process/job_window.h"

namespace attune::ps {
namespace {

constexpr int kCannotGoOn = 1;
constexpr int kBadInput = 2;
constexpr int kAskedToEnd = 128 + SIGTERM;

constexpr char kAbout[] =
    "attune-server holds rows of a job's tables: it answers pulls and applies pushes.\n"
    "One server of a job also runs the coordinator, which admits nodes and hands out data.\n"
    "The operator starts it in the pods of a TrainingJob; by hand, on one machine:\n\n"
    "  export ATTUNE_JOB_UID=try ATTUNE_INDEX=0\n"
    "  attune-server --servers 1 --coordinator-here --items 1000 --epochs 2\n\n"
    "Workers then join with ATTUNE_COORDINATOR=127.0.0.1:7400.";

constexpr char kFooter[] =
    "Environment: ATTUNE_JOB_UID and ATTUNE_INDEX are needed; ATTUNE_COORDINATOR (host:port) too, unless the "
    "coordinator\n"
    "runs here; ATTUNE_POD_IP and ATTUNE_SIDECAR_SOCKET are used when set. ATTUNE_TLS_DIRECTORY (tls.crt, tls.key, "
    "ca.crt)\n"
    "turns mutual TLS on, ATTUNE_JOB_TOKEN_FILE names a file with the job's secret, ATTUNE_TRANSPORT=Encrypted puts "
    "rows\n"
    "into TLS by certificates that this secret gives, and ATTUNE_SHARED_MEMORY=off keeps rows on TCP on one machine.\n"
    "Ends with 0 only when the job is finished, 1 when it cannot continue, 2 on bad input, 143 when asked to end "
    "(SIGTERM).";

struct Flags {
  uint32_t servers = 1;
  bool coordinator_here = false;
  uint32_t term = 1;
  uint64_t epochs = 0;
  uint64_t steps = 0;
  double target_loss = 0;
  double max_duration_seconds = 0;
  uint64_t items = 0;
  uint64_t lease_items = 0;
  std::string bind;
  TargetMetric target_metric;
  EarlyStopping early_stopping;
  uint64_t evaluate_every_epochs = 0, evaluate_every_steps = 0;
  std::string load;
  uint64_t load_checkpoint = 0;
  bool load_best = false;
  BestCheckpointRule best_checkpoint;
  uint64_t checkpoint_megabytes_per_second = 0;
  uint64_t table_megabytes = 0;
  uint32_t checkpoints_retained = kRetainedDefault;
  std::string synchronization = "async";
  std::string row_management = ToString(RowManagement::kAdaptive);
  uint32_t backups = 0;
  std::string checkpoints;
  uint16_t data_port = contract::kDataPort;
  uint16_t coordinator_port = contract::kCoordinatorPort;
};

CLI::Validator WholeNumber(int64_t low, int64_t high = kNoMaximum) {
  return {[low, high](std::string& text) { return ProblemOfWholeNumber(text, low, high); }, ""};
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
CLI::Validator Number(double low = -kInfinity) {
  return {[low](std::string& text) { return ProblemOfNumber(text, low, kInfinity); }, ""};
}
CLI::Validator PositiveNumber() {
  return {[](std::string& text) { return ProblemOfPositiveNumber(text); }, ""};
}

// Whether a metric, which option `of` names, is to rise.
void AddDirection(CLI::App& app, const char* option, bool& maximize, CLI::Option* of, const char* text) {
  app.add_flag(option, maximize, text)->needs(of);
}

void AddGoalFlags(CLI::App& app, Flags& flags) {
  app.add_option("--epochs", flags.epochs, "Goal: passes over the data")->check(WholeNumber(1));
  app.add_option("--steps", flags.steps, "Goal: steps of all workers together")->check(WholeNumber(1));
  app.add_option("--target-loss", flags.target_loss, "Goal: smoothed training loss at or below this")->check(Number());
  app.add_option("--max-duration", flags.max_duration_seconds, "Goal: seconds since the first worker joined")
      ->check(PositiveNumber());
  CLI::Option* target = app.add_option("--target-metric", flags.target_metric.name,
                                       "Goal: this metric, which the program reports, reaches --target-value");
  target->needs(app.add_option("--target-value", flags.target_metric.value, "See --target-metric")
                    ->check(Number())
                    ->needs(target));
  AddDirection(app, "--target-maximize", flags.target_metric.maximize, target,
               "--target-metric is to rise, not to fall");
  CLI::Option* stopping =
      app.add_option("--early-stopping", flags.early_stopping.metric,
                     "Goal: this metric has not improved for --early-stopping-patience reports of it");
  stopping->needs(app.add_option("--early-stopping-patience", flags.early_stopping.patience, "See --early-stopping")
                      ->check(WholeNumber(1))
                      ->needs(stopping));
  app.add_option("--early-stopping-min-delta", flags.early_stopping.min_delta, "What improves by no more does not")
      ->check(Number(0))
      ->needs(stopping);
  AddDirection(app, "--early-stopping-maximize", flags.early_stopping.maximize, stopping,
               "--early-stopping is to rise, not to fall");
}

void AddAddressFlags(CLI::App& app, Flags& flags) {
  app.add_option(
      "--bind", flags.bind,
      "IP address to listen at and to announce to others; default $ATTUNE_POD_IP or 127.0.0.1. Without a token or "
      "certificates, loopback only");
  app.add_option("--data-port", flags.data_port, "Port for rows; 0: any free one")
      ->capture_default_str()
      ->check(WholeNumber(0, 65535));
  app.add_option("--coordinator-port", flags.coordinator_port, "Port of the coordinator; 0: any free one")
      ->capture_default_str()
      ->check(WholeNumber(0, 65535));
}

// What a job starts with.
void AddStartFlags(CLI::App& app, Flags& flags) {
  app.add_option(
      "--load", flags.load,
      "Where the coordinator runs: continue from the newest whole checkpoint in this directory, written by any "
      "number of servers");
  app.add_option("--load-checkpoint", flags.load_checkpoint, "Number of the checkpoint to start with instead")
      ->check(WholeNumber(1))
      ->needs("--load");
  app.add_flag("--load-best", flags.load_best, "Start with the checkpoint there that is marked as the best instead")
      ->needs("--load")
      ->excludes("--load-checkpoint");
}

void Describe(CLI::App& app, Flags& flags) {
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("attune-server ") + kVersion);
  app.add_option("--servers", flags.servers, "How many servers the job starts with; others may join while it runs")
      ->check(WholeNumber(1, 1024))
      ->capture_default_str();
  app.add_flag("--coordinator-here", flags.coordinator_here, "Run the job's coordinator in this server");
  AddGoalFlags(app, flags);
  app.add_option("--evaluate-every-epochs", flags.evaluate_every_epochs, "An evaluation is due after so many epochs")
      ->check(WholeNumber(1));
  app.add_option("--evaluate-every-steps", flags.evaluate_every_steps,
                 "An evaluation is due after so many steps of all workers together")
      ->check(WholeNumber(1));
  app.add_option("--items", flags.items, "Items per epoch of data sets that do not say it themselves")
      ->check(WholeNumber(0));
  app.add_option("--term", flags.term,
                 "Where the coordinator runs: the term it begins with; above those of the job's processes before")
      ->capture_default_str()
      ->check(WholeNumber(1, std::numeric_limits<int32_t>::max()));
  app.add_option("--checkpoints", flags.checkpoints,
                 "Directory for checkpoints; default \"checkpoints\" in $ATTUNE_MODEL_DIRECTORY");
  app.add_option("--lease-items", flags.lease_items, "Items handed to a worker at a time; chosen when not given")
      ->check(WholeNumber(0));
  app.add_option("--synchronization", flags.synchronization,
                 "How far workers may run ahead of the slowest: async, bsp, ssp:N (steps)")
      ->capture_default_str();
  app.add_option("--row-management", flags.row_management,
                 "What workers make of the rows that programs announce: Adaptive, Static or Always")
      ->check(CLI::IsMember(std::vector<std::string>(kRowManagementNames.begin(), kRowManagementNames.end())))
      ->capture_default_str();
  app.add_option("--backups", flags.backups, "Second copies of every row, on another server: 0 or 1")
      ->check(WholeNumber(0, 1))
      ->capture_default_str();
  AddAddressFlags(app, flags);
  AddStartFlags(app, flags);
  CLI::Option* best =
      app.add_option("--best-checkpoint", flags.best_checkpoint.metric,
                     "Where the coordinator runs: write and keep a checkpoint when this metric, which the program "
                     "reports, is better than ever before");
  AddDirection(app, "--best-maximize", flags.best_checkpoint.maximize, best,
               "--best-checkpoint is to rise, not to fall");
  app.add_option("--checkpoint-rate", flags.checkpoint_megabytes_per_second,
                 "Megabytes per second written into checkpoints at most, so that training keeps the disk; 0: no limit")
      ->capture_default_str()
      ->check(WholeNumber(0));
  app.add_option("--table-memory", flags.table_megabytes,
                 "Megabytes that rows and copies may take here; 0: what the container's limit, or the machine, leaves. "
                 "Pushes to new rows beyond it are refused")
      ->capture_default_str()
      ->check(WholeNumber(0));
  app.add_option("--checkpoints-retained", flags.checkpoints_retained, "Newest checkpoints that are kept")
      ->check(WholeNumber(1, 1000))
      ->capture_default_str();
}

JobGoal GoalOf(const CLI::App& app, const Flags& flags) {
  JobGoal goal;
  if (app.count("--epochs") > 0) goal.epochs = flags.epochs;
  if (app.count("--steps") > 0) goal.steps = flags.steps;
  if (app.count("--target-loss") > 0) goal.target_loss = flags.target_loss;
  if (app.count("--max-duration") > 0) {
    goal.max_duration = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(flags.max_duration_seconds));
  }
  if (!flags.target_metric.name.empty()) goal.target_metric = flags.target_metric;
  if (!flags.early_stopping.metric.empty()) goal.early_stopping = flags.early_stopping;
  if (flags.evaluate_every_epochs > 0) goal.evaluate_every_epochs = flags.evaluate_every_epochs;
  if (flags.evaluate_every_steps > 0) goal.evaluate_every_steps = flags.evaluate_every_steps;
  return goal;
}

Status CheckMetricGoals(const Flags& flags) {
  for (const auto& [option, name, number] :
       {std::tuple("--best-checkpoint", flags.best_checkpoint.metric, 0.0),
        std::tuple("--target-metric", flags.target_metric.name, flags.target_metric.value),
        std::tuple("--early-stopping", flags.early_stopping.metric, flags.early_stopping.min_delta)}) {
    if (name.empty() || (contract::IsMetricName(name) && std::isfinite(number))) continue;
    return Error(StatusCode::kInvalidArgument, std::string(option) + "=" + name + " at " + std::to_string(number) +
                                                   ": a metric's name has " + contract::kMetricNameWords +
                                                   ", and its value is a finite number");
  }
  return OkStatus();
}

StatusOr<ServerRuntime::Options> OptionsOf(const CLI::App& app, const Flags& flags) {
  Environment environment = Environment::OfProcess();
  ServerRuntime::Options options;
  options.job_uid = environment.Required(contract::kEnvJobUid);
  options.index = environment.RequiredNumber(contract::kEnvIndex);
  options.pod_uid = environment.Optional(contract::kEnvPodUid);
  options.machine = environment.Optional(contract::kEnvNodeName);
  options.bind_address = flags.bind.empty() ? environment.Optional(contract::kEnvPodIp, "127.0.0.1") : flags.bind;
  options.port = flags.data_port;
  options.load_directory = flags.load;
  options.load_best = flags.load_best;
  if (flags.load_checkpoint > 0) options.load_checkpoint = flags.load_checkpoint;
  options.checkpoint_bytes_per_second = flags.checkpoint_megabytes_per_second * 1'000'000;
  options.table_bytes_max = flags.table_megabytes * 1'000'000;
  options.checkpoint_directory = flags.checkpoints;
  const std::string models = environment.Optional(contract::kEnvModelDirectory);
  if (flags.checkpoints.empty() && !models.empty()) options.checkpoint_directory = models + "/checkpoints";
  options.sidecar_socket = environment.Optional(contract::kEnvSidecarSocket);
  options.token = environment.JobToken();
  options.tls_directory = environment.Optional(contract::kEnvTlsDirectory);
  options.encrypted =
      environment.OneOf(contract::kEnvTransport, {contract::kTransportAuthenticated, contract::kTransportEncrypted}) ==
      contract::kTransportEncrypted;
  options.shared_memory = environment.Optional(contract::kEnvSharedMemory) != "off";
  options.coordinator_port = flags.coordinator_port;
  options.retained_checkpoints = flags.checkpoints_retained;
  if (flags.coordinator_here) {
    CoordinatorRuntime::Options coordinator;
    coordinator.core.job_uid = options.job_uid;
    coordinator.core.term = flags.term;
    coordinator.core.servers = flags.servers;
    coordinator.core.goal = GoalOf(app, flags);
    if (!flags.best_checkpoint.metric.empty()) {
      coordinator.core.goal.best_checkpoint = flags.best_checkpoint;
      coordinator.core.goal.best_checkpoint->directory = options.checkpoint_directory;
    }
    coordinator.core.items = flags.items;
    coordinator.core.lease_items = flags.lease_items;
    coordinator.retained_checkpoints = flags.checkpoints_retained;
    ASSIGN_OR_RETURN(coordinator.core.synchronization, ParseSyncMode(flags.synchronization));
    const auto name = std::ranges::find(kRowManagementNames, flags.row_management);
    coordinator.core.row_management = static_cast<RowManagement>(name - kRowManagementNames.begin());
    coordinator.core.backups = flags.backups;
    coordinator.core.may_be_followed = AbilitiesOfServers().coordinator_failover();
    coordinator.core.host_index = options.index;
    coordinator.bind_address = options.bind_address;
    coordinator.port = flags.coordinator_port;
    options.coordinator_here = std::move(coordinator);
  } else {
    options.coordinator = environment.Required(contract::kEnvCoordinator);
  }
  RETURN_IF_ERROR(environment.Problems("attune-server"));
  RETURN_IF_ERROR(CheckMetricGoals(flags));
  if (!flags.best_checkpoint.metric.empty() && options.checkpoint_directory.empty()) {
    return Error(StatusCode::kInvalidArgument,
                 "--best-checkpoint=" + flags.best_checkpoint.metric +
                     " needs a place for checkpoints: name one with --checkpoints, or set " +
                     contract::kEnvModelDirectory);
  }
  if (flags.coordinator_here && options.index >= flags.servers) {  // others may join a running job
    return Error(StatusCode::kInvalidArgument, std::string(contract::kEnvIndex) + "=" + std::to_string(options.index) +
                                                   " does not fit --servers " + std::to_string(flags.servers) +
                                                   "; indices count from 0");
  }
  return options;
}

}  // namespace

std::optional<int> ServerCommand::Parse(int argc, const char* const* argv) {
  CLI::App app(kAbout, "attune-server");
  Flags flags;
  Describe(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  }
  StatusOr<ServerRuntime::Options> options = OptionsOf(app, flags);
  if (!options.ok()) {
    std::cerr << "attune-server: " << attune::Message(options.status()) << "\n";
    return kBadInput;
  }
  options_ = *std::move(options);
  return std::nullopt;
}

int ServerCommand::Run() {
  log::SetProcessName("server-" + std::to_string(options_.index));
  const BootTime time;
  const StatusOr<std::unique_ptr<ServerRuntime>> started = ServerRuntime::Start(options_, time);
  if (!started.ok()) {
    log::Error("server cannot start", {{"reason", started.status()}});
    return kCannotGoOn;
  }
  const std::unique_ptr<ServerRuntime>& server = *started;
  const auto termination = SignalWatcher::Install({SIGTERM, SIGINT}, [&](int) { server->Stop("asked to end"); });
  log::Info("serving", {{"rows_at", server->data_address()}, {"coordinator", server->coordinator_address()}});
  const Status ended = server->Wait();
  if (ended.ok()) log::Info("the job is finished");
  if (ended.code() == StatusCode::kCancelled) {
    log::Info("ends because it was asked to");
    return kAskedToEnd;
  }
  if (!ended.ok()) log::Error("server ends", {{"reason", ended}});
  return ended.ok() ? 0 : kCannotGoOn;
}

}  // namespace attune::ps
