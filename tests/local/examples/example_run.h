// An example under the real program, as a user runs it: `attune run` with servers, workers, sidecars and controllers on
// a small input, steered from outside while it trains. Nothing of the user's own is touched.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "operator/kube/object.h"
#include "tests/local/cli/program.h"

namespace attune {

class ExampleRun : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // A job of 2 servers and 2 workers that run `program`, which must lie beside attune.
  void Start(const std::string& program, const std::vector<std::string>& arguments, int epochs);
  // Another command of `attune`, while the job runs.
  Outcome Attune(const std::vector<std::string>& arguments) const;
  // The job's status as `attune get` shows it; empty when there is none.
  kube::Json GetStatus() const;
  // False, with a failure, when the run ends or time is up before the status is as wanted.
  bool AwaitStatus(const std::string& what, const std::function<bool(const kube::Json&)>& wanted);
  bool AwaitReady(const std::string& role, size_t count);
  // The last line of the run, which must have ended well and have left no process behind.
  kube::Json AwaitResult();

  std::filesystem::path directory_;

 private:
  std::vector<std::string> Processes() const;  // started below this test
  std::unique_ptr<Program> run_;
};

}  // namespace attune
