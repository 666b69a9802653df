#include "tests/local/cli/job_run.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

namespace attune {

namespace {

// What a process found in its environment when it began, each variable ended by a zero.
std::string EnvironmentOf(const std::filesystem::path& process) {
  std::ifstream file(process / "environ");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

void JobRun::SetUp() {
  const std::string root = directory_.string();
  environment_ = {{"XDG_RUNTIME_DIR", root},
                  {"HOME", root},
                  {"KUBECONFIG", ""},
                  {"XDG_STATE_HOME", root + "/state"},
                  {"TMPDIR", root + "/tmp"}};
  std::filesystem::create_directory(directory_ / "tmp");
}

void JobRun::TearDown() {
  run_.reset();
  KillEverything();
}

void JobRun::StartRun(const std::string& job, const std::string& manifest, const std::vector<std::string>& words) {
  job_ = job;
  const std::string file = (directory_ / "job.yaml").string();
  std::ofstream(file) << manifest;
  std::vector<std::string> command{"run", file, "-o", "json"};
  command.insert(command.end(), words.begin(), words.end());
  run_ = std::make_unique<Program>(command, directory_, environment_);
}

Outcome JobRun::Attune(const std::vector<std::string>& arguments) const {
  return Program(arguments, directory_, environment_).AwaitEnd();
}

std::unique_ptr<Program> JobRun::Start(const std::vector<std::string>& arguments,
                                       const std::map<int, uint64_t>& limits) const {
  return std::make_unique<Program>(arguments, directory_, environment_, limits);
}

Json JobRun::GetStatus() const {
  // Of this run alone: an earlier one of the same job answers, too, once it has ended.
  const Json answer = Json::parse(
      Attune({"get", job_, "-o", "json", "--instance", std::to_string(run_->process_id())}).output, nullptr, false);
  if (!answer.is_object()) return Json::object();
  const Json& job = answer.contains("items") && !answer["items"].empty() ? answer["items"][0] : answer;
  return job.value("status", Json::object());
}

bool JobRun::AwaitStatus(const std::string& what, const std::function<bool(const Json&)>& wanted) {
  const auto deadline = std::chrono::steady_clock::now() + kTimeout;
  Json status;
  while (std::chrono::steady_clock::now() < deadline) {
    status = GetStatus();
    if (wanted(status)) return true;
    // Reads along: the pipe stays empty.
    if (run_->AwaitOutput("\"type\":\"result\"", std::chrono::milliseconds(100))) break;
  }
  ADD_FAILURE() << what << " was not seen; last status:\n"
                << status.dump(1) << "\nthe run said:\n"
                << run_->AwaitEnd(std::chrono::seconds(5)).output;
  return false;
}

bool JobRun::AwaitFraction(double fraction) {
  return AwaitStatus("fraction " + std::to_string(fraction), [&](const Json& status) {
    return status.value(Json::json_pointer("/progress/fraction"), 0.0) > fraction;
  });
}

bool JobRun::AwaitReady(const std::string& role, size_t count) {
  return AwaitStatus(std::to_string(count) + " ready " + role, [&](const Json& status) {
    return status.value(Json::json_pointer("/" + role + "/ready"), size_t{0}) == count &&
           status.value(Json::json_pointer("/progress/fraction"), 0.0) > 0;
  });
}

Json JobRun::AwaitResult() {
  const Outcome outcome = run_->AwaitEnd(kTimeout);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(Processes(""), testing::IsEmpty()) << "left behind";
  std::istringstream lines(outcome.output);
  Json result;
  for (std::string line; std::getline(lines, line);) {
    Json parsed = Json::parse(line, nullptr, false);
    if (parsed.is_object() && parsed.value("type", "") == "result") result = std::move(parsed);
  }
  EXPECT_EQ(result.value("outcome", ""), "Succeeded") << outcome.output;
  return result;
}

std::vector<pid_t> JobRun::Processes(const std::string& program) const {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::error_code ignored;
    if (EnvironmentOf(entry).find("HOME=" + directory_.string()) == std::string::npos) continue;
    const auto executable = std::filesystem::read_symlink(entry.path() / "exe", ignored);
    if (program.empty() || executable.filename() == program) found.push_back(std::stoi(entry.path().filename()));
  }
  return found;
}

pid_t JobRun::ProcessOf(const std::string& pod, const std::string& program) const {
  for (const pid_t process : Processes(program)) {
    const std::string variables = EnvironmentOf("/proc/" + std::to_string(process));
    if (variables.find("ATTUNE_POD_NAME=" + pod + '\0') != std::string::npos) return process;
  }
  return 0;
}

void JobRun::KillEverything() const {
  for (const pid_t process : Processes("")) kill(process, SIGKILL);
}

double Metric(const Json& result, const std::string& name) {
  return result.value(Json::json_pointer("/result/metrics/" + name), std::nan(""));
}

}  // namespace attune
