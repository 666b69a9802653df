// `attune policy` as it is typed: over a cluster that is served on this machine, and the mistakes of a beginner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/os/file.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "operator/kube/client/rest_api.h"
#include "operator/local/api/memory_api.h"
#include "operator/local/rest/api_server.h"
#include "tests/cli/policies/sample_cluster.h"

namespace attune::cli::policy_command_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Answer {
  int code = 0;
  std::string output, errors;
};

Answer Call(const PolicyArguments& arguments, const Target& target) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Answer answer;
  answer.code = Policy(arguments, target);
  answer.output = ::testing::internal::GetCapturedStdout();
  answer.errors = ::testing::internal::GetCapturedStderr();
  return answer;
}

class PolicyCommand : public ::testing::Test {
 protected:
  PolicyCommand() : directory_(::testing::TempDir() + "attune-policy-" + std::to_string(getpid())) {
    kube::InitializeHttp();
    std::filesystem::create_directories(directory_);
    for (const kube::Json& object : FromYaml(kSamplePolicies)) {
      const bool own = kube::StringAt(object, {"kind"}) == kube::kTuningPolicies.kind;
      EXPECT_TRUE(api_.Create(own ? kube::kTuningPolicies : kube::kClusterTuningPolicies, object).ok());
    }
    EXPECT_TRUE(api_.Create(kube::kTrainingJobs, SampleJob()).ok());
  }
  ~PolicyCommand() override { std::filesystem::remove_all(directory_); }

  // A kubeconfig of a cluster that serves these kinds.
  Target Cluster(const std::vector<local::KindInfo>& kinds) {
    server_ = local::ApiServer::Start({.token = "right", .kinds = kinds}, api_).value();
    Target target;
    target.kubeconfig = Write("kubeconfig",
                              "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: "
                              "{cluster: c, user: u, namespace: research}}], clusters: [{name: c, cluster: {server: '" +
                                  server_->url() + "'}}], users: [{name: u, user: {token: right}}]}\n");
    return target;
  }
  Target Cluster() { return Cluster(api_.kinds()); }
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return path;
  }

  const std::string directory_;
  const SystemTime time_;
  local::MemoryApi api_{time_, {}};
  std::unique_ptr<local::ApiServer> server_;
};

constexpr char kTrial[] = R"(apiVersion: attune.dev/v1alpha1
kind: TuningPolicy
metadata: {name: narrow}
spec: {knobs: {workers: {max: 4}}, onViolation: ShrinkNow}
)";

TEST_F(PolicyCommand, TheListIsATableOrObjects) {
  const Target target = Cluster();
  const Answer table = Call({.action = "list"}, target);
  EXPECT_EQ(table.code, 0) << table.errors;
  EXPECT_THAT(table.output, AllOf(StartsWith("KIND"), HasSubstr("shared-gpus"), HasSubstr("research    narrow")));
  const Answer json = Call({.action = "list", .output = "json"}, target);
  const kube::Json list = kube::Json::parse(json.output);
  EXPECT_EQ(list["kind"], "List");
  ASSERT_EQ(list["items"].size(), 5U);
  EXPECT_FALSE(list["items"][0]["metadata"].contains("managedFields"));
  EXPECT_THAT(Call({.action = "list", .output = "yaml"}, target).output, StartsWith("apiVersion: v1\n"));
}

TEST_F(PolicyCommand, TheListOfANamespaceWithoutPoliciesSaysSo) {
  Target target = Cluster();
  for (const char* name : {"production-only", "shared-gpus"})
    EXPECT_TRUE(api_.Delete(kube::kClusterTuningPolicies, {"", name}).ok());
  target.name_space = "lab";
  const Answer none = Call({.action = "list"}, target);
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.errors, HasSubstr("no policies for namespace lab at the cluster of context c"));
  EXPECT_THAT(Call({.action = "list", .all_namespaces = true}, target).output, HasSubstr("few-servers"));
}

TEST_F(PolicyCommand, AJobIsExplainedAsTextAndAsAnObject) {
  const Target target = Cluster();
  const Answer text = Call({.action = "explain", .what = "word2vec"}, target);
  EXPECT_EQ(text.code, 0) << text.errors;
  EXPECT_THAT(text.output, AllOf(StartsWith("word2vec: tuning "), HasSubstr("\nConflict: knobs.servers"),
                                 HasSubstr("namespace research has no label tier")));
  const kube::Json object =
      kube::Json::parse(Call({.action = "explain", .what = "word2vec", .output = "json"}, target).output);
  EXPECT_EQ(object["mode"]["asked"], "Auto");
  const Answer unknown = Call({.action = "explain", .what = "word2vek"}, target);
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.errors, HasSubstr("there is no job word2vek in namespace research; there are: word2vec"));
}

TEST_F(PolicyCommand, AFileIsTriedAndNothingIsApplied) {
  const Target target = Cluster();
  const std::string file = Write("narrow.yaml", kTrial);
  const Answer tried = Call({.action = "test", .what = file}, target);
  EXPECT_EQ(tried.code, 0) << tried.errors;
  EXPECT_THAT(tried.output, AllOf(HasSubstr("TuningPolicy research/narrow (replaces the one there): selects 1 job"),
                                  HasSubstr("workers 12 -> 4 at once"), HasSubstr("1 job would change, 0 would not"),
                                  HasSubstr("note: spec.selector: it selects every job of its namespace")));
  EXPECT_EQ((*api_.Get(kube::kTuningPolicies, {"research", "narrow"}))["spec"]["knobs"]["workers"]["max"], 8);
  const kube::Json object = kube::Json::parse(Call({.action = "test", .what = file, .output = "json"}, target).output);
  EXPECT_EQ(object["changed"].size(), 1U);
}

TEST_F(PolicyCommand, AFileWithMistakesIsNotCompared) {
  const std::string file = Write("bad.yaml",
                                 "apiVersion: attune.dev/v1alpha1\nkind: TuningPolicy\nmetadata: {name: a}\nspec: "
                                 "{knob: {workers: {max: 4}}}\n---\napiVersion: attune.dev/v1alpha1\nkind: "
                                 "TrainingJob\nmetadata: {name: a}\n");
  const Answer answer = Call({.action = "test", .what = file}, Target());
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.output, AllOf(HasSubstr("bad.yaml:4:8: spec.knob: found an unknown field; allowed: knobs"),
                                   HasSubstr("bad.yaml:7:7: kind: found \"TrainingJob\"; allowed: TuningPolicy or")));
  EXPECT_THAT(answer.errors, HasSubstr("has 2 problems; nothing was compared"));
}

TEST_F(PolicyCommand, AClusterWithoutTheKindsSaysHowToInstallThem) {
  std::vector<local::KindInfo> kinds = api_.kinds();
  std::erase_if(kinds, [](const local::KindInfo& kind) { return kind.type.kind.ends_with("TuningPolicy"); });
  const Target target = Cluster(kinds);
  for (const PolicyArguments& arguments :
       {PolicyArguments{.action = "list"}, PolicyArguments{.action = "explain", .what = "word2vec"}}) {
    const Answer answer = Call(arguments, target);
    EXPECT_EQ(answer.code, 1) << arguments.action;
    EXPECT_THAT(answer.errors, AllOf(HasSubstr("the cluster has no tuning policies"),
                                     HasSubstr("kubectl apply -f crds/tuningpolicy.yaml")));
  }
  const Answer tried = Call({.action = "test", .what = Write("narrow.yaml", kTrial)}, target);
  EXPECT_EQ(tried.code, 0) << tried.errors;
  EXPECT_THAT(tried.output, HasSubstr("Note: the cluster has no tuning policies"));
}

// Without a cluster, and without a home in which one could be named.
TEST_F(PolicyCommand, OnOneMachineThereAreNoPolicies) {
  const char* home = std::getenv("HOME");
  const char* kubeconfig = std::getenv("KUBECONFIG");
  const std::string home_before = home == nullptr ? "" : home;
  const std::string kubeconfig_before = kubeconfig == nullptr ? "" : kubeconfig;
  setenv("HOME", directory_.c_str(), 1);
  unsetenv("KUBECONFIG");
  const Answer list = Call({.action = "list"}, Target());
  EXPECT_EQ(list.code, 1);
  EXPECT_THAT(list.errors, AllOf(HasSubstr("there is no kubeconfig, and policies are objects of a cluster"),
                                 HasSubstr("attune validate FILE checks policies without one")));
  Target target;
  target.instance = 4711;
  EXPECT_THAT(Call({.action = "list"}, target).errors, HasSubstr("leave --instance out"));
  if (home != nullptr) setenv("HOME", home_before.c_str(), 1);
  if (kubeconfig != nullptr) setenv("KUBECONFIG", kubeconfig_before.c_str(), 1);
}

TEST_F(PolicyCommand, MistakesOfABeginnerSayWhatToWrite) {
  struct Case {
    PolicyArguments arguments;
    const char* want;
  };
  const Case kTable[] = {{{.action = "list", .what = "word2vec"}, "write attune policy explain word2vec for a job"},
                         {{.action = "test"}, "write attune policy test FILE"},
                         {{.action = "explain", .what = "a", .all_namespaces = true}, "-A goes with the list only"},
                         {{.action = "explain", .what = "a", .output = "yaml"}, "yaml goes with the list only"}};
  for (const auto& [arguments, want] : kTable) {
    const Answer answer = Call(arguments, Target());
    EXPECT_EQ(answer.code, 2) << want;
    EXPECT_THAT(answer.errors, HasSubstr(want));
  }
  const Answer missing = Call({.action = "test", .what = directory_ + "/missing.yaml"}, Target());
  EXPECT_THAT(missing.errors, HasSubstr("No such file or directory"));
  EXPECT_EQ(missing.code, 2);
}

}  // namespace
}  // namespace attune::cli::policy_command_test
