#include "tests/operator/controller/execute/faulty_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "operator/local/api/memory_api.h"
#include "tests/operator/controller/execute/executor_rig.h"

namespace attune::controller::faulty_api_test {
namespace {

const kube::Json kPod = {{"apiVersion", "v1"},
                         {"kind", "Pod"},
                         {"metadata", {{"name", "p"}, {"namespace", "default"}}},
                         {"spec", {{"containers", kube::Json::array({{{"name", "c"}, {"image", "x"}}})}}}};
const kube::ObjectKey kKey{"default", "p"};

struct FaultyApiTest : testing::Test {
  TestClock clock;
  local::MemoryApi real{clock, {.own_thread = false}};
  FaultyApi api{real, [this](Duration time) { clock.Advance(time); }};
  void Expect(const Fault& fault) {
    api.SetJudge([fault](const ApiCall&) { return std::optional<Fault>(fault); });
  }
};

TEST_F(FaultyApiTest, ACallThatIsRefusedHasNoEffect) {
  Expect({.status = Error(StatusCode::kPermissionDenied, "exceeded quota")});
  EXPECT_EQ(api.Create(kube::kPods, kPod, {}).status().code(), StatusCode::kPermissionDenied);
  EXPECT_FALSE(real.Get(kube::kPods, kKey).ok());
  EXPECT_THAT(api.calls(), testing::ElementsAre("create Pod p"));
}

TEST_F(FaultyApiTest, ACallThatTimesOutMayHaveHadItsEffect) {
  const MonotonicTime before = clock.Now();
  Expect({.status = Error(StatusCode::kDeadlineExceeded, "silent"),
          .carried_out = true,
          .takes = std::chrono::seconds(5)});
  EXPECT_FALSE(api.Create(kube::kPods, kPod, {}).ok());
  EXPECT_TRUE(real.Get(kube::kPods, kKey).ok());
  EXPECT_EQ(clock.Now() - before, std::chrono::seconds(5));
}

TEST_F(FaultyApiTest, TheOperatorMayDieBeforeACallOrAfterIt) {
  for (const bool carried_out : {false, true}) {
    Expect({.status = OkStatus(), .carried_out = carried_out, .operator_dies = true});
    EXPECT_THROW((void)api.Create(kube::kPods, kPod, {}), OperatorDied);
    EXPECT_EQ(real.Get(kube::kPods, kKey).ok(), carried_out);
  }
}

TEST_F(FaultyApiTest, AStatusWrittenWithoutItsVersionUndoesWhatIsNewer) {
  const kube::Json job = {{"apiVersion", kube::kTrainingJobs.api_version()},
                          {"kind", kube::kTrainingJobs.kind},
                          {"metadata", {{"name", "p"}, {"namespace", "default"}, {"resourceVersion", "1"}}},
                          {"status", {{"phase", "Running"}}}};
  ExecutorRig rig(1, 1);
  kube::Json stale = job;
  stale["metadata"]["name"] = "j";
  const kube::ApplyOptions options{.field_manager = "test", .subresource = "status"};
  EXPECT_EQ(rig.api.Apply(kube::kTrainingJobs, stale, options, {}).status().code(), StatusCode::kAborted);
  rig.api.SetMistakes({.status_without_version = true});
  EXPECT_TRUE(rig.api.Apply(kube::kTrainingJobs, stale, options, {}).ok());
}

TEST(DrawFaultTest, EveryFaultIsDrawnAndTheSameSeedDrawsTheSame) {
  const FaultRates rates{.refused = 0.3, .times_out = 0.2, .dies = 0.1};
  const auto draw = [&](uint64_t seed) {
    Random random(seed);
    std::vector<std::string> drawn;
    for (int i = 0; i < 1000; ++i) {
      const std::optional<Fault> fault = DrawFault(random, rates);
      drawn.push_back(!fault ? "none"
                             : std::to_string(static_cast<int>(fault->status.code())) +
                                   (fault->carried_out ? " done" : "") + (fault->operator_dies ? " dies" : ""));
    }
    return drawn;
  };
  const std::vector<std::string> drawn = draw(7);
  EXPECT_EQ(drawn, draw(7));
  // Four codes of refusals, a time-out and a death with and without effect, and nothing.
  EXPECT_EQ(std::set<std::string>(drawn.begin(), drawn.end()).size(), 9U);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(drawn, "none")), 400, 100);
}

TEST(OperatorsViewTest, ShowsThePastAndNeverGoesBack) {
  TestClock clock;
  local::MemoryApi real(clock, {.own_thread = false});
  OperatorsView view(real);
  constexpr size_t kPods = 1;
  const OperatorsView::Past before = view.Look(kPods);
  ASSERT_TRUE(real.Create(kube::kPods, kPod).ok());
  EXPECT_FALSE(view.caches().pods.HasSynced());
  view.Show(kPods, before);
  EXPECT_TRUE(view.caches().pods.HasSynced());
  EXPECT_EQ(view.caches().pods.Get(kKey), nullptr);
  view.Show(kPods, view.Look(kPods));
  EXPECT_NE(view.caches().pods.Get(kKey), nullptr);
  view.Show(kPods, before);
  EXPECT_NE(view.caches().pods.Get(kKey), nullptr);
}

}  // namespace
}  // namespace attune::controller::faulty_api_test
