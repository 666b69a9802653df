#include "operator/kube/measured_api.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operator/kube/fake_api.h"

namespace attune::kube::measured_api_test {
namespace {

using std::chrono::milliseconds;

// Each call takes 5 ms; whether it is granted is the test's to say.
class SlowApi final : public FakeApi {
 public:
  explicit SlowApi(ManualTime& time) : time_(time) {}

  StatusOr<Json> Get(const ResourceType&, const ObjectKey&, const CallOptions&) override { return Answer(); }
  StatusOr<Json> Patch(const ResourceType&, const ObjectKey&, PatchType, const Json&, const std::string&,
                       const CallOptions&) override {
    return Answer();
  }
  Status Delete(const ResourceType&, const ObjectKey&, const DeleteOptions&, const CallOptions&) override {
    return Answer().status();
  }

  Status answer;

 private:
  StatusOr<Json> Answer() {
    time_.Advance(milliseconds(5));
    if (!answer.ok()) return answer;
    return Json{{"kind", "Pod"}};
  }

  ManualTime& time_;
};

class MeasuredApiTest : public testing::Test {
 protected:
  ManualTime time_;
  SlowApi real_{time_};
  std::vector<std::string> calls_;
  MeasuredApi api_{real_, time_, [this](const FinishedCall& call) {
                     calls_.push_back(std::string(call.verb) + " " + std::string(call.resource) + " " +
                                      absl::StatusCodeToString(call.code) + " " +
                                      std::to_string(call.took / milliseconds(1)) + " ms");
                   }};
};

TEST_F(MeasuredApiTest, AnAnswerPassesAndItsTimeIsReported) {
  const auto answer = api_.Get(kPods, {"default", "a"});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ((*answer)["kind"], "Pod");
  EXPECT_EQ(calls_, std::vector<std::string>{"get pods OK 5 ms"});
}

TEST_F(MeasuredApiTest, ARefusalPassesWithItsTextAndIsReportedWithItsCode) {
  real_.answer = Error(StatusCode::kResourceExhausted, "exceeded quota");
  EXPECT_EQ(api_.Delete(kPods, {"default", "a"}), real_.answer);
  EXPECT_EQ(calls_, std::vector<std::string>{"delete pods RESOURCE_EXHAUSTED 5 ms"});
}

TEST_F(MeasuredApiTest, SubresourcesHaveNamesOfTheirOwn) {
  ASSERT_TRUE(api_.Patch(kTrainingJobs, {"default", "a"}, PatchType::kMerge, {}, "status").ok());
  EXPECT_FALSE(api_.ReadLog({"default", "a"}, {}, [](std::string_view) { return true; }).ok());
  EXPECT_FALSE(api_.GetDocument("/openid/v1/jwks", {}).ok());
  EXPECT_FALSE(api_.ServerTime({}).ok());
  EXPECT_FALSE(api_.GetPodPage({"default", "a"}, 80, "metrics", {}).ok());
  EXPECT_FALSE(api_.StartWatch(kNodes, {}, [](WatchSignal) {}).ok());
  EXPECT_EQ(calls_, (std::vector<std::string>{"patch trainingjobs/status OK 5 ms", "get pods/log UNIMPLEMENTED 0 ms",
                                              "get documents UNIMPLEMENTED 0 ms", "get time UNIMPLEMENTED 0 ms",
                                              "get pods/proxy UNIMPLEMENTED 0 ms", "watch nodes UNIMPLEMENTED 0 ms"}));
}

}  // namespace
}  // namespace attune::kube::measured_api_test
