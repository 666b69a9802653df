// What every kube::Api must do, as observed of a real API server. Instantiate for an implementation by linking
// attune_api_conformance and
//   INSTANTIATE_TEST_SUITE_P(Memory, ApiConformance, ::testing::Values(ConformanceTarget{.make = ...}), TargetName);
// A difference between two implementations is a bug of the one that is not the real server.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "operator/kube/api.h"

namespace attune::kube {

struct ConformanceTarget {
  std::string name = "Api";
  // A client of the server under test. The server may be shared by all tests: each uses object names of its own.
  std::function<StatusOr<std::unique_ptr<Api>>()> make;
  // A kind with spec.workers.replicas behind /scale and with /status, shaped like TrainingJob (status.workers.replicas,
  // status.workerSelector).
  ResourceType job = kTrainingJobs;
  std::string name_space = "default";
  // A version so old that watching `job` from it is refused.
  std::function<std::string(Api&)> expired_version = [](Api&) { return std::string("1"); };
  // Long enough for a bookmark to come before the server ends a watch.
  Duration watch_with_bookmark = std::chrono::seconds(4);
};

inline void PrintTo(const ConformanceTarget& target, std::ostream* out) { *out << target.name; }
inline std::string TargetName(const ::testing::TestParamInfo<ConformanceTarget>& info) { return info.param.name; }

class ApiConformance : public ::testing::TestWithParam<ConformanceTarget> {
 protected:
  void SetUp() override;
  void TearDown() override;

  const ResourceType& job_type() const { return GetParam().job; }
  // Unique to this test: "test-<number>-<suffix>".
  std::string Named(const std::string& suffix) const { return prefix_ + suffix; }
  ObjectKey Key(const std::string& suffix) const { return {GetParam().name_space, Named(suffix)}; }
  // Matches exactly this test's objects.
  std::string Selector() const { return "test=" + prefix_ + "x"; }

  // A job or a pod carrying this test's label. The pod is held back from scheduling.
  Json Job(const std::string& suffix) const;
  Json Pod(const std::string& suffix) const;
  // Creates and expects success; returns what the server answered.
  Json Created(const ResourceType& type, const Json& object);
  Json Read(const ResourceType& type, const std::string& suffix);
  std::string VersionNow(const ResourceType& type);
  WatchOptions WatchFrom(const std::string& resource_version) const;
  void ForceDelete(const ResourceType& type, const Json& object);

  std::unique_ptr<Api> api_;

 private:
  std::string prefix_;
};

}  // namespace attune::kube
