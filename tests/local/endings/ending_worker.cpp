// A training program for tests that ends in the way it is asked for. It adds one to a row per item, evaluates as a data
// set of one item and saves a model of one line, unless WAY says otherwise.
//   ending_worker WAY DIRECTORY      (environment as in proto/contract.h)
// DIRECTORY: where it leaves "evaluating" when its closing work begins, and looks for "continue" while it waits in it.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "attune/ps/session.h"
#include "proto/contract.h"

namespace attune::ps {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kItems = 400, kBatch = 10;
constexpr int kStepsBeforeAnEarlyEnd = 20;

struct Plan {
  std::string way;
  fs::path directory;
};

Status Save(const fs::path& directory) {
  std::ofstream out(directory / "model.txt");
  // More than a full disk takes, and more than a stream keeps to itself.
  for (int line = 0; line < 40'000; ++line) out << "a row of the model\n";
  if (!out.flush()) return Error(StatusCode::kResourceExhausted, "saving the model: no space in " + directory.string());
  return OkStatus();
}

void EndInTraining(const std::string& way) {
  if (way == "_exit(0) in training") _exit(0);
  if (way == "exit(0) in training") std::exit(0);
  if (way == "aborts in training") std::abort();
  if (way == "is killed in training") std::raise(SIGKILL);
}

Status Train(Session& session, const Table& table, const Plan& plan) {
  int steps = 0;
  for (const DataLease& lease : session.DataLeases("train", {.items = kItems, .lease_items = 100})) {
    for (uint64_t at = lease.begin(); at < lease.end() && !session.draining(); at += kBatch) {
      table.PushAsync(std::vector<Key>{at}, std::vector<float>{-1.0F});
      lease.Advance(at + kBatch);
      RETURN_IF_ERROR(session.Step({.loss = 1.0, .samples = kBatch}));
      if (++steps < kStepsBeforeAnEarlyEnd) continue;
      if (plan.way == "returns 0 in training") return OkStatus();
      if (plan.way == "an error in training") return Error(StatusCode::kInternal, "the corpus is broken");
      EndInTraining(plan.way);
    }
    if (session.draining()) break;
  }
  return session.status();
}

// What was added to all rows: an evaluation reads the model, and cannot end well while rows of it are with no server.
StatusOr<double> Sum(const Table& table) {
  std::vector<Key> keys;
  for (uint64_t at = 0; at < kItems; at += kBatch) keys.push_back(at);
  std::vector<float> rows(keys.size());
  RETURN_IF_ERROR(table.Pull(keys, rows));
  double sum = 0;
  for (const float row : rows) sum += row;
  return sum;
}

Status Evaluate(Session& session, const Table& table, const Plan& plan) {
  const char* const model = std::getenv(contract::kEnvModelDirectory);
  for ([[maybe_unused]] const DataLease& lease : session.DataLeases("evaluate", {.items = 1, .epochs = 1})) {
    std::ofstream(plan.directory / "evaluating") << "yes";
    if (plan.way == "an error in the evaluation") return Error(StatusCode::kInternal, "no test data");
    if (plan.way == "returns 0 in the evaluation") return OkStatus();
    if (plan.way == "_exit(0) in the evaluation") _exit(0);
    if (plan.way == "aborts in the evaluation") std::abort();
    if (plan.way == "is killed in the evaluation") std::raise(SIGKILL);
    if (plan.way == "waits in the evaluation") {
      while (!fs::exists(plan.directory / "continue")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (plan.way == "saves on a full disk") RETURN_IF_ERROR(Save(plan.directory / "full"));
    RETURN_IF_ERROR(Save(model));
    ASSIGN_OR_RETURN(const double rows, Sum(table));
    RETURN_IF_ERROR(session.Finish({.metrics = {{"rows", rows}}}));
  }
  return session.status();
}

Status Run(const Plan& plan) {
  if (plan.way == "never joins") return OkStatus();
  ASSIGN_OR_RETURN(SessionOptions options, SessionOptions::FromEnvironment());
  options.call_timeout = std::chrono::seconds(20);
  ASSIGN_OR_RETURN(const auto session, Session::Connect(options));
  if (plan.way == "exit(0) after joining") return OkStatus();
  ASSIGN_OR_RETURN(const Table table, session->OpenTable("counts", {.dim = 1, .optimizer = Sgd{.rate = 1.0F}}));
  RETURN_IF_ERROR(Train(*session, table, plan));
  RETURN_IF_ERROR(session->Flush());
  if (session->draining() || plan.way == "closing work after the session") return OkStatus();
  return Evaluate(*session, table, plan);
}

}  // namespace
}  // namespace attune::ps

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const attune::ps::Plan plan{argv[1], argv[2]};
  attune::Status status = attune::ps::Run(plan);
  if (status.ok() && plan.way == "closing work after the session") status = attune::ps::Save(plan.directory / "full");
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", attune::ToString(status).c_str());
  return 1;
}
