// `attune run --detach`: the same program again, in a session of its own.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <optional>

#include "base/os/file.h"
#include "base/os/file_descriptor.h"
#include "cli/application.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/launch/local_run.h"
#include "cli/runs/run_directory.h"
#include "cli/runs/run_record.h"
#include "operator/local/instance.h"

namespace attune::cli {
namespace {

constexpr Duration kStartMax = std::chrono::seconds(20);
constexpr Duration kDetachPoll = std::chrono::milliseconds(50);

// A file without a name that holds the text, to be read from its beginning.
StatusOr<FileDescriptor> TextInMemory(const std::string& text) {
  FileDescriptor file(memfd_create("manifest", MFD_CLOEXEC));
  size_t done = 0;
  while (file.valid() && done < text.size()) {
    const ssize_t written = pwrite(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (written <= 0 && errno != EINTR) break;
    if (written > 0) done += static_cast<size_t>(written);
  }
  if (file.valid() && done == text.size()) return file;
  return Error(StatusCode::kUnavailable, "cannot pass the manifest to the background process: " + ErrnoText(errno));
}

StatusOr<pid_t> Spawn(const std::vector<std::string>& words, const std::string& input,
                      const std::filesystem::path& output) {
  ASSIGN_OR_RETURN(const FileDescriptor manifest, TextInMemory(input));
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&files, manifest.get(), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  // Away from this terminal: its end and its Ctrl-C do not reach the instance.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t child = 0;
  const int failed = posix_spawn(&child, "/proc/self/exe", &files, &attributes, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) return Error(StatusCode::kInternal, "cannot start the background process: " + ErrnoText(failed));
  return child;
}

std::optional<local::Instance> FindInstance(pid_t child) {
  const auto instances = local::FindInstances();
  if (!instances.ok()) return std::nullopt;
  for (const local::Instance& instance : *instances) {
    if (instance.process_id == child) return instance;
  }
  return std::nullopt;
}

// The exit code of a child that ended, if it did.
std::optional<int> ExitCode(pid_t child) {
  int state = 0;
  if (waitpid(child, &state, WNOHANG) != child) return std::nullopt;
  return WIFEXITED(state) ? WEXITSTATUS(state) : kExitFailed;
}

// The name of the job, or of the run where another one trains a job of that name: then the job's is ambiguous.
std::string NameToSay(const std::string& job, const std::string& run, pid_t child) {
  const auto instances = local::FindInstances();
  for (const local::Instance& instance : instances.ok() ? *instances : std::vector<local::Instance>()) {
    if (instance.process_id != child && instance.job.ends_with("/" + job)) return run;
  }
  return job;
}

void SayHowToLook(const std::string& job, const std::string& run, const local::Instance& instance,
                  const std::filesystem::path& directory) {
  const pid_t child = instance.process_id;
  std::printf("%s: training in the background, process %d, logs in %s\nits own output is in %s\n", job.c_str(), child,
              directory.c_str(), (directory / kRunOutput).c_str());
  if (!instance.dashboard.empty()) std::printf("dashboard: %s\n", instance.dashboard.c_str());
  std::puts("");
  const std::string name = NameToSay(job, run, child);
  const std::pair<std::string, const char*> kCommands[] = {{"get", "how far it is"},
                                                           {"logs " + name + " worker 0 -f", "what a worker writes"},
                                                           {"scale " + name + " workers=3", "more workers"},
                                                           {"stop " + name, "end it"}};
  const auto width = static_cast<int>(kCommands[1].first.size());
  for (const auto& [command, what] : kCommands) std::printf("  attune %-*s   %s\n", width, command.c_str(), what);
}

}  // namespace

int StartDetached(const std::vector<kube::Json>& jobs, const std::string& manifest, const RunArguments& arguments,
                  const Target& target) {
  const SystemTime time;
  const std::string job(kube::Name(jobs.front()));
  const auto directory = MakeRunDirectory({arguments.run_directory, arguments.name, job}, time.WallNow());
  if (!directory.ok()) return Fail(directory.status());
  std::vector<std::string> words = {
      "attune",           "run", "-", "--manifest-name", arguments.manifest_name, "--plain", "--run-directory",
      directory->string()};
  if (!arguments.resume.empty()) words.insert(words.end(), {"--resume", arguments.resume});
  if (arguments.resume_best) words.emplace_back("--best");
  if (!arguments.tune.empty()) words.insert(words.end(), {"--tune", arguments.tune});
  if (!arguments.cores.empty()) words.insert(words.end(), {"--limit-cores-per-pod", arguments.cores});
  if (!arguments.report.empty()) words.insert(words.end(), {"--report", arguments.report});
  if (!arguments.dashboard.empty()) words.push_back("--dashboard=" + arguments.dashboard);
  if (!arguments.name.empty()) words.insert(words.end(), {"--name", arguments.name});
  for (const std::string& tag : arguments.tags) words.insert(words.end(), {"--tag", tag});
  if (arguments.keep) words.insert(words.end(), {"--keep", std::to_string(*arguments.keep)});
  if (!arguments.resumed_from.empty()) words.insert(words.end(), {"--resumed-from", arguments.resumed_from});
  if (!target.name_space.empty()) words.insert(words.end(), {"--namespace", target.name_space});
  const std::filesystem::path output = *directory / kRunOutput;
  const auto child = Spawn(words, manifest, output);
  if (!child.ok()) return Fail(child.status());
  Interrupts::Install();
  for (const MonotonicTime deadline = time.Now() + kStartMax; time.Now() < deadline;) {
    if (const auto instance = FindInstance(*child)) {
      SayHowToLook(job, arguments.name.empty() ? directory->filename().string() : arguments.name, *instance,
                   *directory);
      return kExitOk;
    }
    if (const auto code = ExitCode(*child)) {
      const auto said = ReadFile(output);
      std::fputs(said.ok() ? said->c_str() : "", stderr);
      return *code;
    }
    if (Interrupts::Wait(kDetachPoll)) break;
  }
  kill(*child, SIGTERM);
  if (Interrupts::requested()) return kExitInterrupted;
  return Fail(
      Error(StatusCode::kDeadlineExceeded, "the background process was not up after 20 s and was asked to end; see " +
                                               output.string() + " and " + (*directory / "attune.log").string()));
}

}  // namespace attune::cli
