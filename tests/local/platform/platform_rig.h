// A local platform of a test's own, with pods of /bin/sh.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "operator/local/containers/resource_limits.h"
#include "operator/local/platform.h"
#include "tests/local/platform/support.h"
#include "tests/operator/local/objects.h"
#include "tests/scratch.h"

namespace attune::local {

class PlatformTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = Platform::Start(
        {.run_directory = directory.path() / "run", .shim_command = {POD_SHIM_PROGRAM, "pod-shim"}}, time);
    ASSERT_TRUE(started.ok()) << ToString(started.status());
    platform = std::move(*started);
  }
  static kube::Json Container(const std::string& name, const std::string& script) {
    return {{"name", name}, {"command", {"sh", "-c", script}}};
  }
  static kube::Json Pod(const std::string& name, const std::string& script) {
    kube::Json pod = testing::MakePod(name);
    pod["spec"] = {{"restartPolicy", "Never"},
                   {"terminationGracePeriodSeconds", 1},
                   {"containers", kube::Json::array({Container("main", script)})}};
    return pod;
  }
  void Create(const kube::Json& pod) {
    const auto created = api().Create(kube::kPods, pod);
    ASSERT_TRUE(created.ok()) << ToString(created.status());
  }
  kube::Api& api() { return platform->api(); }
  kube::Json Read(const std::string& name) { return api().Get(kube::kPods, testing::Key(name)).value_or(kube::Json()); }
  bool AwaitPhase(const std::string& name, const std::string& phase) {
    const bool reached = testing::Eventually([&] { return kube::StringAt(Read(name), {"status", "phase"}) == phase; });
    if (!reached) ADD_FAILURE() << Read(name)["status"].dump(2);
    return reached;
  }
  std::string Log(const std::string& name, const kube::LogOptions& options = {}) {
    std::string text;
    const Status status = api().ReadLog(testing::Key(name), options, [&](std::string_view piece) {
      text += piece;
      return true;
    });
    return status.ok() ? text : ToString(status);
  }

  const SystemTime time;
  Scratch directory;
  std::unique_ptr<Platform> platform;
};

// Skips where this user may not make control groups: then the log says that limits are not enforced.
class LimitsTest : public PlatformTest {
 protected:
  void SetUp() override {
    PlatformTest::SetUp();
    ContainerLimits limits = ContainerLimits::Make({{"limits", {{"memory", "64Mi"}, {"cpu", "100m"}}}}, "probe");
    const bool permitted = !limits.files().empty();
    limits.Remove();
    if (!permitted) GTEST_SKIP() << "no right to make control groups";
  }
  static kube::Json Limited(const std::string& name, const std::string& script, const kube::Json& limits) {
    kube::Json pod = Pod(name, script);
    pod["spec"]["containers"][0]["resources"] = {{"limits", limits}};
    return pod;
  }
};

}  // namespace attune::local
