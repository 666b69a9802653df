// One `attune run` with real servers, workers, sidecars and controllers, as a user starts it, steered from outside
// while it trains. Nothing of the user's own is touched, and no process outlives the test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "operator/kube/object.h"
#include "tests/local/cli/program.h"
#include "tests/scratch.h"

namespace attune {

using kube::Json;

class JobRun : public testing::Test {
 protected:
  static constexpr std::chrono::seconds kTimeout{150};  // with a whole run, on a busy machine

  void SetUp() override;
  void TearDown() override;

  // Runs the job of that name in the manifest; `words` are more of the command line.
  void StartRun(const std::string& job, const std::string& manifest, const std::vector<std::string>& words = {});
  // Another command of `attune`.
  Outcome Attune(const std::vector<std::string>& arguments) const;
  // The same, to be looked at while it runs.
  std::unique_ptr<Program> Start(const std::vector<std::string>& arguments,
                                 const std::map<int, uint64_t>& limits = {}) const;
  // The job's status as `attune get` shows it; empty when there is none.
  Json GetStatus() const;
  // False, with a failure, when the run ends or time is up before the status is as wanted.
  bool AwaitStatus(const std::string& what, const std::function<bool(const Json&)>& wanted);
  bool AwaitFraction(double fraction);
  // `role`: servers or workers.
  bool AwaitReady(const std::string& role, size_t count);
  // The last line of the run, which must have ended well and have left no process behind.
  Json AwaitResult();

  // Ids of processes that were started below this test, by what they execute; "": all.
  std::vector<pid_t> Processes(const std::string& program) const;
  // The one of a pod that executes `program`; 0: none.
  pid_t ProcessOf(const std::string& pod, const std::string& program) const;
  void KillEverything() const;

  const Scratch scratch_;
  const std::filesystem::path& directory_ = scratch_.path();
  std::unique_ptr<Program> run_;

 private:
  std::map<std::string, std::string> environment_;
  std::string job_;
};

// Of the result's metrics; NaN when it is not there.
double Metric(const Json& result, const std::string& name);

}  // namespace attune
