#include "operator/local/containers/container_launch.h"

#include <gmock/gmock.h>

#include "tests/operator/local/objects.h"

namespace attune::local::container_launch_test {
namespace {

using ::testing::ElementsAre;
using testing::Json;
using ::testing::Pair;

StatusOr<std::string> Resolve(const kube::ObjectKey& pod) {
  if (pod.name == "a-server-0" && pod.name_space == "default") return std::string("127.70.0.2");
  return Error(StatusCode::kResourceExhausted, "none left");
}

TEST(ContainerLaunchTest, PathsBelowTmpMeanTheMachinesOwn) {
  const Json pod = testing::MakePod("a-server-0");
  const Json container = {
      {"name", "main"},
      {"command", {"prog"}},
      {"args", {"--load", "/tmp/checkpoints", "/model/x"}},
      {"volumeMounts",
       {{{"name", "attune-tmp"}, {"mountPath", "/tmp"}}, {{"name", "model"}, {"mountPath", "/model"}}}}};
  const StatusOr<Launch> launch =
      MakeLaunch({pod, container, "127.70.0.9", {{"attune-tmp", "/real/t"}, {"model", "/real/m"}}, Resolve});
  ASSERT_TRUE(launch.ok()) << ToString(launch.status());
  EXPECT_THAT(launch->arguments, ElementsAre("--load", "/tmp/checkpoints", "/real/m/x"));
}

TEST(ContainerLaunchTest, TheTerminationMessageIsWrittenBesideThePodsLogs) {
  const Json pod = testing::MakePod("a-worker-0");
  const Json container = {{"name", "main"},
                          {"command", {"prog"}},
                          {"terminationMessagePath", "/dev/termination-log"},
                          {"env", Json::array({{{"name", "LOG"}, {"value", "/dev/termination-log"}}})}};
  LaunchInput input{pod, container, "127.70.0.9", {}, Resolve};
  input.termination_log = "/real/main.termination";
  const StatusOr<Launch> launch = MakeLaunch(input);
  ASSERT_TRUE(launch.ok()) << ToString(launch.status());
  EXPECT_THAT(launch->environment, ElementsAre(Pair("LOG", "/real/main.termination")));
}

TEST(ContainerLaunchTest, ExpandsReferencesVariablesMountsAndNames) {
  Json pod = testing::MakePod("a-worker-0", {{"app", "x"}});
  pod["metadata"]["uid"] = "u-1";
  const Json container = {
      {"name", "main"},
      {"command", {"prog", "$(ROLE)", "$$(ROLE)", "$(UNKNOWN)"}},
      {"args", {"--out=/var/model/x", "/var/model", "/var/modelling", "a-server-0.a.default.svc:7400"}},
      {"workingDir", "/var/model"},
      {"env",
       {{{"name", "ROLE"}, {"value", "worker"}},
        {{"name", "POD"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.name"}}}}}},
        {{"name", "IP"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "status.podIP"}}}}}},
        {{"name", "APP"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.labels['app']"}}}}}},
        {{"name", "BOTH"}, {"value", "$(ROLE)@$(IP)"}},
        {{"name", "SOCKET"}, {"value", "/run/attune/sidecar.sock"}}}},
      {"volumeMounts",
       {{{"name", "model"}, {"mountPath", "/var/model"}},
        {{"name", "run"}, {"mountPath", "/run/attune/"}, {"subPath", "s"}}}}};
  const StatusOr<Launch> launch =
      MakeLaunch({pod, container, "127.70.0.9", {{"model", "/real/m"}, {"run", "/real/r"}}, Resolve});
  ASSERT_TRUE(launch.ok()) << ToString(launch.status());
  EXPECT_THAT(launch->command, ElementsAre("prog", "worker", "$(ROLE)", "$(UNKNOWN)"));
  EXPECT_THAT(launch->arguments, ElementsAre("--out=/real/m/x", "/real/m", "/var/modelling", "127.70.0.2:7400"));
  EXPECT_EQ(launch->directory, "/real/m");
  EXPECT_THAT(launch->environment,
              ElementsAre(Pair("ROLE", "worker"), Pair("POD", "a-worker-0"), Pair("IP", "127.70.0.9"), Pair("APP", "x"),
                          Pair("BOTH", "worker@127.70.0.9"), Pair("SOCKET", "/real/r/s/sidecar.sock")));
}

TEST(ContainerLaunchTest, NamesInsideTexts) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a-server-0.a.default.svc", "127.70.0.2"},
      {"a-server-0.a.default.svc.cluster.local:1", "127.70.0.2:1"},
      {"http://a-server-0.a.default.svc:80/x,a-server-0.a.default.svc", "http://127.70.0.2:80/x,127.70.0.2"},
      {"a.default.svc", "a.default.svc"},
      {"a-server-0.a.default.svcs", "a-server-0.a.default.svcs"},
      {"x.svc", "x.svc"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(RewriteNames(text, Resolve).value(), want) << text;
  EXPECT_EQ(RewriteNames("b.a.default.svc", Resolve).status().code(), StatusCode::kResourceExhausted);
}

TEST(ContainerLaunchTest, ClearErrors) {
  const Json pod = testing::MakePod("a");
  const auto message = [&](const Json& container) {
    return std::string(Message(MakeLaunch({pod, container, "", {}, Resolve}).status()));
  };
  EXPECT_THAT(message({{"volumeMounts", Json::array({{{"name", "v"}, {"mountPath", "/v"}}})}}),
              ::testing::HasSubstr("\"v\""));
  EXPECT_THAT(message({{"env", Json::array({{{"name", "S"}, {"valueFrom", {{"secretKeyRef", {{"name", "s"}}}}}}})}}),
              ::testing::HasSubstr("S: only fieldRef"));
  EXPECT_THAT(message({{"args", Json::array({1})}}), ::testing::HasSubstr("string"));
}

}  // namespace
}  // namespace attune::local::container_launch_test
