#include "cli/launch/local_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/os/file_descriptor.h"
#include "base/version.h"
#include "cli/application.h"
#include "cli/dashboard/dashboard.h"
#include "cli/display/follow.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/launch/run_keeper.h"
#include "cli/launch/run_report.h"
#include "cli/process_limits.h"
#include "cli/requests/checkpoint_request.h"
#include "cli/requests/stopping.h"
#include "cli/runs/run_directory.h"
#include "cli/runs/run_store.h"
#include "operator/controller/execute/operator.h"
#include "operator/local/instance.h"
#include "operator/local/nodes/own_addresses.h"
#include "operator/local/platform.h"

namespace attune::cli {
namespace {

// What was trained is in the checkpoint, or is to be lost: processes get a second, and less after a slow checkpoint.
constexpr Duration kEarlyGrace = std::chrono::seconds(1);
constexpr Duration kKillingTakes = std::chrono::milliseconds(300);

// At the end of a run, until a page that is open has asked for it, which it does every five seconds at least.
constexpr Duration kLastLookMax = std::chrono::seconds(6);

// Standard error goes to a file while the display is on: log lines of platform and operator would tear it.
class StandardErrorInFile {
 public:
  explicit StandardErrorInFile(const std::filesystem::path& file) {
    const FileDescriptor target(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!target.valid()) return;
    saved_ = FileDescriptor(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    if (saved_.valid()) dup2(target.get(), STDERR_FILENO);
    KeepStandardErrorForAborts(saved_.get());
  }
  ~StandardErrorInFile() { Restore(); }
  StandardErrorInFile(const StandardErrorInFile&) = delete;
  StandardErrorInFile& operator=(const StandardErrorInFile&) = delete;

  void Restore() {
    if (!saved_.valid()) return;
    KeepStandardErrorForAborts(-1);
    dup2(saved_.get(), STDERR_FILENO);
    saved_.Close();
  }

 private:
  FileDescriptor saved_;
};

// Everything a local run consists of; members end in reverse order.
struct LocalRun {
  std::string name;
  SystemTime time;
  std::unique_ptr<Dashboard> dashboard;  // null: none was asked for
  std::unique_ptr<local::Platform> platform;
  std::unique_ptr<controller::Operator> job_operator;
  std::unique_ptr<local::InstanceRegistration> registration;
  std::vector<kube::ObjectKey> keys;
};

std::string TimeText(WallTime now, const char* format) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::seconds>(now));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

Status StartParts(const std::filesystem::path& directory, const local::CoreLimits& cores, LocalRun& run) {
  local::PlatformOptions platform;
  platform.run_directory = directory;
  platform.program_directories = {ThisProgram().parent_path()};
  platform.cores = cores;
  ASSIGN_OR_RETURN(run.platform, local::Platform::Start(platform, run.time));
  controller::OperatorOptions options;
  options.telemetry_listen = "127.0.0.1:0";
  options.status_interval = std::chrono::seconds(1);
  options.default_model_claim = kRunModelClaim;
  options.queues = false;  // this machine is shared with no other team
  options.tuner_history = TunerHistoryOf(directory).string();
  ASSIGN_OR_RETURN(run.job_operator, controller::Operator::Start(options, run.platform->api(), run.time));
  if (run.dashboard) run.dashboard->ShowMetrics([&run] { return run.job_operator->MetricsText(); });
  return run.job_operator->Lead();  // it is alone
}

// Before anything else of a run: a port that is taken leaves no directory.
Status StartDashboard(const RunArguments& arguments, LocalRun& run) {
  if (arguments.dashboard.empty()) return OkStatus();
  // The command line has let only ports through.
  const auto port = static_cast<uint16_t>(std::strtoul(arguments.dashboard.c_str(), nullptr, 10));
  ASSIGN_OR_RETURN(run.dashboard, Dashboard::Start(port, run.time));
  return OkStatus();
}

Status StartJobs(const std::vector<kube::Json>& jobs, const std::filesystem::path& directory, LocalRun& run) {
  for (const kube::Json& job : jobs) {
    RETURN_IF_ERROR(Annotate(run.platform->api().Create(kube::kTrainingJobs, job).status(),
                             "creating job " + std::string(kube::Name(job))));
    run.keys.push_back(kube::KeyOf(job));
  }
  local::Instance instance;
  instance.process_id = getpid();
  instance.url = run.platform->url();
  instance.token = run.platform->token();
  instance.job = run.keys.front().ToString();
  instance.run = run.name;
  instance.run_directory = directory.string();
  if (run.dashboard) instance.dashboard = run.dashboard->url();
  instance.started = TimeText(run.time.WallNow(), "%Y-%m-%dT%H:%M:%SZ");
  ASSIGN_OR_RETURN(run.registration, local::InstanceRegistration::Register(instance));
  return OkStatus();
}

void Complete(std::vector<kube::Json>& jobs, const Target& target) {
  for (kube::Json& job : jobs) {
    job = api::WithDefaults(std::move(job));
    if (!job["metadata"].contains("namespace")) {
      job["metadata"]["namespace"] = target.name_space.empty() ? "default" : target.name_space;
    }
  }
}

// As many as there are at first; more can come by scaling.
size_t PodsOf(const std::vector<kube::Json>& jobs) {
  int64_t pods = 0;
  for (const kube::Json& job : jobs) {
    for (const char* role : {"servers", "workers"})
      pods += std::max<int64_t>(1, kube::IntegerAt(job, {"spec", role, "replicas"}, 1));
  }
  return static_cast<size_t>(pods);
}

// The command line as a user would type it, also of a run that was started in the background with its manifest on
// standard input.
std::vector<std::string> TypedWords(std::vector<std::string> words, const std::string& manifest_name) {
  const auto name = std::find(words.begin(), words.end(), "--manifest-name");
  if (name == words.end() || std::next(name) == words.end()) return words;
  words.erase(name, std::next(name, 2));
  if (manifest_name != kStandardInput) std::replace(words.begin(), words.end(), std::string("-"), manifest_name);
  return words;
}

RunRecord RecordOf(const RunArguments& arguments, const Target& target, const std::filesystem::path& directory) {
  RunRecord record;
  record.name = arguments.name.empty() ? directory.filename().string() : arguments.name;
  record.tags = arguments.tags;
  record.directory = directory.string();
  record.started = ToUnixSeconds(SystemTime().WallNow());
  record.process_id = getpid();
  record.process_start = local::ProcessStart(getpid());
  record.arguments = TypedWords(arguments.words, arguments.manifest_name);
  std::error_code error;
  record.working_directory = std::filesystem::current_path(error).string();
  record.manifest = arguments.manifest_name;
  record.tune = arguments.tune;
  record.cores = arguments.cores;
  record.name_space = target.name_space;
  record.resumed_from = arguments.resumed_from.empty() ? arguments.resume : arguments.resumed_from;
  record.version = kVersion;
  record.machine = ThisMachine();
  return record;
}

// Not for programs, which read JSON lines.
void Say(const std::string& text, bool quiet) {
  if (quiet) return;
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void SayBegun(const LocalRun& run, const local::CoreLimits& cores, const std::filesystem::path& directory, bool json) {
  const std::string limit = cores.empty() ? "" : ", " + cores.Description();
  // In the background, or in a file, there is no Ctrl-C.
  const std::string end = IsTerminal() ? "Ctrl-C" : "`attune stop " + run.keys.front().name + "`";
  Say(run.keys.front().name + ": training on this machine" + limit + ", logs in " +
          ShortPath(directory.string(), CurrentScreen().directory) + "; " + end + " ends it\n",
      json);
  if (!run.dashboard) return;
  const std::string url = run.dashboard->url();
  Say(json ? kube::Json({{"type", "dashboard"}, {"url", url}}).dump() + "\n" : "dashboard: " + url + "\n", false);
}

std::vector<kube::ObjectKey> JobsWithRowsToLose(LocalRun& run) {
  std::vector<kube::ObjectKey> keys;
  for (const kube::ObjectKey& key : run.keys) {
    const auto object = run.platform->api().Get(kube::kTrainingJobs, key);
    if (object.ok() && HasRowsToLose(api::ParseTrainingJob(*object).job)) keys.push_back(key);
  }
  return keys;
}

// The last checkpoint of each job that would lose rows, all within one time; the next interrupt skips what is left.
void WriteLastCheckpoints(LocalRun& run, RunKeeper& keeper, bool quiet) {
  const MonotonicTime deadline = run.time.Now() + kLastCheckpointMax;
  const int interrupts = Interrupts::count();
  const std::vector<kube::ObjectKey> jobs = JobsWithRowsToLose(run);
  Say(StoppingText({run.name, !jobs.empty(), IsTerminal()}), quiet);
  for (const kube::ObjectKey& key : jobs) {
    const Duration left = std::max<Duration>(deadline - run.time.Now(), Duration::zero());
    const auto written = WriteCheckpoint(run.platform->api(), key,
                                         {.whole = left, .details = kLastDetails, .interrupts_seen = interrupts});
    if (written.ok() && written->known) keeper.SetCheckpoint(run.platform->api(), key, written->status);
    const std::string text = written.ok() ? ToString(*written)
                             : Interrupts::count() > interrupts
                                 ? "no checkpoint: skipped"
                                 : "no checkpoint: " + std::string(Message(written.status()));
    Say(text + "\n", quiet);
  }
}

void EndOperator(LocalRun& run) {
  run.registration.reset();
  if (run.dashboard) run.dashboard->ShowMetrics({});
  run.job_operator.reset();
}

void EndEarly(LocalRun& run, RunKeeper& keeper, bool quiet) {
  const MonotonicTime end = run.time.Now() + kEarlyEndMax - kKillingTakes;
  keeper.Interrupted();
  WriteLastCheckpoints(run, keeper, quiet);
  Say("stopping: ending all processes\n", quiet);
  EndOperator(run);  // so that nothing replaces what ends
  const Duration grace = std::clamp<Duration>(end - run.time.Now(), Duration::zero(), kEarlyGrace);
  run.platform->Stop(Interrupts::count() > 1 ? Duration::zero() : grace);
}

void RemoveOlderRuns(const RunArguments& arguments, const std::filesystem::path& directory) {
  if (!arguments.keep) return;
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::weakly_canonical(directory, error).parent_path();
  std::string removed;
  for (const RunRecord& run : RunsBeyond(ListRuns(), parent, std::max<uint64_t>(*arguments.keep, 1))) {
    if (const Status status = RemoveRun(run); !status.ok()) {
      Fail(status);
    } else {
      removed += (removed.empty() ? "" : ", ") + run.name;
    }
  }
  if (!removed.empty() && !arguments.json) std::printf("removed by --keep: %s\n", removed.c_str());
}

}  // namespace

int RunLocally(std::vector<kube::Json> jobs, const std::string& manifest, const RunArguments& arguments,
               const Target& target) {
  Interrupts::Install(kInterruptsToLeave);
  Complete(jobs, target);
  if (const Status status = PrepareLimits(PodsOf(jobs)); !status.ok()) return Fail(status);
  if (const Status status = local::CheckOwnAddresses(); !status.ok()) return Fail(status);
  local::CoreLimits cores;
  if (!arguments.cores.empty()) {
    auto parsed = local::CoreLimits::Parse(arguments.cores);
    if (!parsed.ok()) return Fail(parsed.status());
    cores = *std::move(parsed);
  }
  // A run that is refused leaves no directory.
  if (const Status status = local::CheckCoreLimits(cores); !status.ok()) return Fail(status);
  LocalRun run;
  if (const Status status = StartDashboard(arguments, run); !status.ok()) return Fail(status);
  const std::string job(kube::Name(jobs.front()));
  const auto directory = MakeRunDirectory({arguments.run_directory, arguments.name, job}, SystemTime().WallNow());
  if (!directory.ok()) return Fail(directory.status());
  const auto begun = RunKeeper::Begin(RecordOf(arguments, target, *directory), manifest, jobs);
  if (!begun.ok()) return Fail(begun.status());
  RunKeeper& keeper = **begun;
  StandardErrorInFile log(*directory / "attune.log");
  run.name = keeper.record().name;
  Status started = StartParts(*directory, cores, run);
  if (started.ok()) started = StartJobs(jobs, *directory, run);
  if (!started.ok()) {
    EndOperator(run);
    log.Restore();
    keeper.End(RunOutcome::kFailed, ToUnixSeconds(run.time.WallNow()));
    return Fail(started);
  }
  SayBegun(run, cores, *directory, arguments.json);
  RunReport report(*directory, arguments.report, run.keys.size());
  report.Describe(AboutRun(keeper.record()));
  FollowOptions options{.json = arguments.json, .plain = arguments.plain, .local = true};
  options.record = [&](const JobView& view, double now) {
    const RunHistory& history = report.Add(view, now);
    if (run.dashboard) run.dashboard->Show(history);
    keeper.Look(run.platform->api(), view, now);
  };
  options.add_telemetry = [&](const kube::ObjectKey& job, const std::string& uid, JobView& view) {
    AddTelemetry(run.job_operator->telemetry().Sample({job.name_space, job.name, uid}, run.time.Now()), view);
  };
  FollowResult result = Follow(run.platform->api(), run.keys, options, run.time);
  if (result.interrupted) {
    EndEarly(run, keeper, arguments.json);
  } else if (run.dashboard) {
    run.dashboard->AwaitLastLook(kLastLookMax);
  }
  EndOperator(run);
  run.platform.reset();
  log.Restore();
  keeper.End(RunOutcome::kInterrupted, ToUnixSeconds(run.time.WallNow()));
  if (result.interrupted)
    std::fputs((arguments.json ? StoppedJson(keeper.record()) + "\n" : StoppedText(keeper.record())).c_str(), stdout);
  report.Conclude(keeper.record());
  const bool reported = report.Finish(arguments.json);
  RemoveOlderRuns(arguments, *directory);
  for (JobView& view : result.views) view.tuned = report.HeadlineOf(view);
  const int code = Conclude(result, arguments.json);
  return code == kExitOk && !reported ? kExitFailed : code;
}

}  // namespace attune::cli
