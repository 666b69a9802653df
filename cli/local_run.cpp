#include "cli/local_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <filesystem>

#include "cli/application.h"
#include "cli/failure.h"
#include "cli/follow.h"
#include "cli/run_directory.h"
#include "cli/run_report.h"
#include "cli/terminal.h"
#include "operator/controller/operator.h"
#include "operator/local/instance.h"
#include "operator/local/platform.h"

namespace attune::cli {
namespace {

// Standard error goes to a file while the display is on: log lines of platform and operator would tear it.
class StandardErrorInFile {
 public:
  explicit StandardErrorInFile(const std::filesystem::path& file) {
    const int target = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (target < 0) return;
    saved_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (saved_ >= 0) dup2(target, STDERR_FILENO);
    close(target);
  }
  ~StandardErrorInFile() { Restore(); }
  StandardErrorInFile(const StandardErrorInFile&) = delete;
  StandardErrorInFile& operator=(const StandardErrorInFile&) = delete;

  void Restore() {
    if (saved_ < 0) return;
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    saved_ = -1;
  }

 private:
  int saved_ = -1;
};

// Everything a local run consists of; members end in reverse order.
struct LocalRun {
  SystemTime time;
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
  options.default_model_claim = "model";
  options.tuner_history = TunerHistoryOf(directory).string();
  ASSIGN_OR_RETURN(run.job_operator, controller::Operator::Start(options, run.platform->api(), run.time));
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
  instance.run_directory = directory.string();
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

}  // namespace

int RunLocally(std::vector<kube::Json> jobs, const RunArguments& arguments, const Target& target) {
  Interrupts::Install();
  Complete(jobs, target);
  const auto directory =
      MakeRunDirectory(arguments.run_directory, std::string(kube::Name(jobs.front())), SystemTime().WallNow());
  if (!directory.ok()) return Fail(directory.status());
  local::CoreLimits cores;
  if (!arguments.cores.empty()) {
    auto parsed = local::CoreLimits::Parse(arguments.cores);
    if (!parsed.ok()) return Fail(parsed.status());
    cores = *std::move(parsed);
  }
  StandardErrorInFile log(*directory / "attune.log");
  LocalRun run;
  Status started = StartParts(*directory, cores, run);
  if (started.ok()) started = StartJobs(jobs, *directory, run);
  if (!started.ok()) {
    log.Restore();
    return Fail(started);
  }
  if (!arguments.json) {
    const std::string limit = cores.empty() ? "" : ", " + cores.Description();
    // In the background, or in a file, there is no Ctrl-C.
    const std::string end = IsTerminal() ? "Ctrl-C" : "`attune stop " + run.keys.front().name + "`";
    std::printf("%s: training on this machine%s, logs in %s; %s ends it\n", run.keys.front().name.c_str(),
                limit.c_str(), ShortPath(directory->string(), CurrentScreen().directory).c_str(), end.c_str());
    std::fflush(stdout);
  }
  RunReport report(*directory, arguments.report, run.keys.size());
  FollowOptions options{.json = arguments.json, .plain = arguments.plain, .local = true};
  options.record = [&](const JobView& view, double now) { report.Add(view, now); };
  options.add_telemetry = [&](const kube::ObjectKey& job, const std::string& uid, JobView& view) {
    AddTelemetry(run.job_operator->telemetry().Sample({job.name_space, job.name, uid}, run.time.Now()), view);
  };
  const FollowResult result = Follow(run.platform->api(), run.keys, options, run.time);
  if (result.interrupted && !arguments.json) {
    std::printf("stopping: ending all processes\n");
    std::fflush(stdout);
  }
  run.registration.reset();
  run.job_operator.reset();
  run.platform.reset();
  log.Restore();
  if (result.interrupted && !arguments.json)
    std::printf("stopped; no process is left, logs are in %s\n", directory->c_str());
  report.Finish(arguments.json);
  return Conclude(result, arguments.json);
}

}  // namespace attune::cli
