#include "tests/local/examples/example_run.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>

namespace attune {

using kube::Json;

namespace {

constexpr std::chrono::seconds kPatience(150);  // with a whole run, on a busy machine

std::map<std::string, std::string> Environment(const std::filesystem::path& directory) {
  return {{"XDG_RUNTIME_DIR", directory.string()}, {"HOME", directory.string()}, {"KUBECONFIG", ""}};
}

}  // namespace

void ExampleRun::SetUp() {
  std::string pattern = (std::filesystem::temp_directory_path() / "attune-example-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  directory_ = pattern;
}

void ExampleRun::TearDown() {
  run_.reset();
  std::filesystem::remove_all(directory_);
}

void ExampleRun::Start(const std::string& program, const std::vector<std::string>& arguments, int epochs) {
  const std::string file = (directory_ / "job.yaml").string();
  std::ofstream(file) << "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: small}\nspec:\n"
                      << "  goal: {epochs: " << epochs << "}\n  servers: {replicas: 2}\n  workers:\n"
                      << "    replicas: 2\n    max: 4\n    template:\n      spec:\n        containers:\n"
                      << "        - {name: worker, image: none, command: [" << program
                      << "], args: " << Json(arguments).dump() << "}\n";
  run_ = std::make_unique<Program>(std::vector<std::string>{"run", file, "-o", "json"}, directory_,
                                   Environment(directory_));
}

Outcome ExampleRun::Attune(const std::vector<std::string>& arguments) const {
  return Program(arguments, directory_, Environment(directory_)).AwaitEnd();
}

Json ExampleRun::GetStatus() const {
  const Json answer = Json::parse(Attune({"get", "small", "-o", "json"}).output, nullptr, false);
  if (!answer.is_object()) return Json::object();
  const Json& job = answer.contains("items") && !answer["items"].empty() ? answer["items"][0] : answer;
  return job.value("status", Json::object());
}

bool ExampleRun::AwaitStatus(const std::string& what, const std::function<bool(const Json&)>& wanted) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  Json status;
  while (std::chrono::steady_clock::now() < deadline) {
    status = GetStatus();
    if (wanted(status)) return true;
    // Reads along: the pipe stays empty.
    if (run_->AwaitOutput("\"type\":\"result\"", std::chrono::seconds(1))) break;
  }
  ADD_FAILURE() << what << " was not seen; last status:\n"
                << status.dump(1) << "\nthe run said:\n"
                << run_->AwaitEnd(std::chrono::seconds(5)).output;
  return false;
}

bool ExampleRun::AwaitReady(const std::string& role, size_t count) {
  return AwaitStatus(std::to_string(count) + " ready " + role, [&](const Json& status) {
    return status.value(Json::json_pointer("/" + role + "/ready"), size_t{0}) == count &&
           status.value(Json::json_pointer("/progress/fraction"), 0.0) > 0;
  });
}

Json ExampleRun::AwaitResult() {
  const Outcome outcome = run_->AwaitEnd(kPatience);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(Processes(), testing::IsEmpty()) << "left behind";
  std::istringstream lines(outcome.output);
  Json result;
  for (std::string line; std::getline(lines, line);) {
    Json parsed = Json::parse(line, nullptr, false);
    if (parsed.is_object() && parsed.value("type", "") == "result") result = std::move(parsed);
  }
  EXPECT_EQ(result.value("outcome", ""), "Succeeded") << outcome.output;
  return result;
}

std::vector<std::string> ExampleRun::Processes() const {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::error_code ignored;
    std::ifstream file(entry.path() / "environ");
    const std::string variables((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (variables.find("HOME=" + directory_.string()) == std::string::npos) continue;
    found.push_back(std::filesystem::read_symlink(entry.path() / "exe", ignored).string());
  }
  return found;
}

}  // namespace attune
