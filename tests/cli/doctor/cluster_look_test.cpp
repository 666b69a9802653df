#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/doctor/cluster_answers.h"
#include "tests/cli/doctor/healthy_cluster.h"
#include "tests/cli/golden.h"
#include "tests/operator/kube/fake_api.h"

namespace attune::cli::cluster_look_test {
namespace {

using ::testing::HasSubstr;

// Answers from the answers of a healthy cluster; each call takes its time.
class SlowCluster final : public kube::FakeApi {
 public:
  SlowCluster(ManualTime& time, Duration each) : time_(time), each_(each) {}

  StatusOr<kube::Json> GetDocument(const std::string& path, const kube::CallOptions& call) override {
    RETURN_IF_ERROR(Take(call));
    if (path == "/version") return cluster_.kubernetes;
    return path == "/api/v1" ? cluster_.core_kinds : cluster_.attune_kinds;
  }
  StatusOr<int64_t> ServerTime(const kube::CallOptions& call) override {
    RETURN_IF_ERROR(Take(call));
    return static_cast<int64_t>(Seconds(time_.WallNow().time_since_epoch()));
  }
  StatusOr<std::string> GetPodPage(const kube::ObjectKey&, uint16_t, const std::string&,
                                   const kube::CallOptions& call) override {
    RETURN_IF_ERROR(Take(call));
    return cluster_.operators[0].metrics;
  }
  StatusOr<kube::Json> Get(const kube::ResourceType& type, const kube::ObjectKey& key,
                           const kube::CallOptions& call) override {
    RETURN_IF_ERROR(Take(call));
    if (type != kDefinitions) return cluster_.operators[0].lease;
    return cluster_.definitions.at(key.name.substr(0, key.name.find('.')));
  }
  StatusOr<kube::ListResult> List(const kube::ResourceType& type, const kube::ListOptions& options,
                                  const kube::CallOptions& call) override {
    RETURN_IF_ERROR(Take(call));
    if (type == kube::kNodes) return Error(StatusCode::kPermissionDenied, "nodes is forbidden");
    const StatusOr<JsonList>& list = type == kDeployments             ? cluster_.deployments
                                     : type == kStorageClasses        ? cluster_.storage_classes
                                     : type == kube::kTrainingJobs    ? cluster_.jobs
                                     : options.label_selector.empty() ? cluster_.pods
                                                                      : cluster_.operators[0].pods;
    return kube::ListResult{*list, "1"};
  }
  StatusOr<kube::Json> Create(const kube::ResourceType&, const kube::Json& review,
                              const kube::CallOptions& call) override {
    RETURN_IF_ERROR(Take(call));
    kube::Json answer = review;
    answer["status"]["allowed"] = true;
    ++reviews_;
    return answer;
  }
  int reviews_ = 0;

 private:
  Status Take(const kube::CallOptions& call) {
    time_.Advance(std::min<Duration>(each_, call.timeout));
    return each_ <= call.timeout ? OkStatus() : Error(StatusCode::kDeadlineExceeded, "no answer in time");
  }
  ManualTime& time_;
  const Duration each_;
  ClusterAnswers cluster_ = HealthyCluster();
};

TEST(ClusterLook, OneRefusedQuestionKeepsNoOtherFromBeingAsked) {
  ManualTime time;
  SlowCluster api(time, std::chrono::milliseconds(5));
  const ClusterAnswers answers = AskCluster(api, "team", time);
  EXPECT_EQ(answers.nodes.status().code(), StatusCode::kPermissionDenied);
  EXPECT_TRUE(answers.jobs.ok());
  ASSERT_EQ(answers.operators.size(), 1U);
  EXPECT_TRUE(answers.operators[0].metrics.ok());
  EXPECT_EQ(answers.operators[0].rights.size(), RightsOfAnOperator({}).size());
  EXPECT_EQ(static_cast<size_t>(api.reviews_), answers.rights.size() + answers.operators[0].rights.size());
}

TEST(ClusterLook, AllQuestionsTogetherKeepToTheirTime) {
  ManualTime time;
  const MonotonicTime begin = time.Now();
  SlowCluster api(time, std::chrono::seconds(3));
  const ClusterAnswers answers = AskCluster(api, "team", time);
  EXPECT_LE(time.Now() - begin, AskingTime().all);
  EXPECT_TRUE(answers.kubernetes.ok());
  EXPECT_THAT(std::string(Message(answers.jobs.status())), HasSubstr("all the time there is"));
  EXPECT_FALSE(HasProblem(JudgeRoom(answers))) << "what was not asked is no problem";
}

TEST(ClusterLook, OfAnApiServerThatDoesNotAnswerOneQuestionIsEnough) {
  ManualTime time;
  SlowCluster api(time, std::chrono::seconds(6));
  EXPECT_FALSE(AskCluster(api, "team", time).kubernetes.ok());
  EXPECT_EQ(time.Now() - MonotonicTime{}, AskingTime().each);
}

TEST(ClusterLook, FindingsAsTextAndAsJson) {
  ClusterAnswers answers = HealthyCluster();
  answers.version = "1.2.4";
  answers.operators[0].shape.wanted = answers.operators[0].shape.ready = 0;
  answers.storage_classes = JsonList();
  const Findings findings = JudgeCluster(answers);
  std::string text;
  for (const std::string& line : FindingLines(findings, answers.where, {.width = 100})) text += line + "\n";
  ExpectGolden(text, "doctor.txt");
  const kube::Json json = FindingsJson(findings, answers.where);
  EXPECT_EQ(json["problems"], 1);
  EXPECT_EQ(json["warnings"], 1);
  EXPECT_EQ(json["findings"].size(), findings.size());
}

}  // namespace
}  // namespace attune::cli::cluster_look_test
