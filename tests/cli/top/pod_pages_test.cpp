#include "cli/top/pod_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace attune::cli::pod_pages_test {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPage[] = R"(# HELP attune_process_cpu_cores Cores in use over the last window, the mean.
# TYPE attune_process_cpu_cores gauge
attune_process_cpu_cores{namespace="default",job="a b",role="worker",index="0"} 0.93
attune_process_cpu_limit_cores{job="a"} 1
attune_process_throttled_ratio 0.125
attune_process_memory_bytes{job="a"} 8.8e+07
attune_process_memory_limit_bytes{job="a"} 268435456
attune_worker_samples_per_second{job="a"} 1200.5
attune_server_rows{job="a"} NaN
attune_process_cpu_seconds_total{job="a"} 12
)";

TEST(PodPages, APageOfASidecarIsRead) {
  const PodFigures figures = ReadPodPage(kPage);
  EXPECT_EQ(figures.cpu_cores, 0.93);
  EXPECT_EQ(figures.cpu_limit, 1);
  EXPECT_EQ(figures.throttled, 0.125);
  EXPECT_EQ(figures.memory_bytes, 8.8e7);
  EXPECT_EQ(figures.memory_limit, 268435456);
  EXPECT_EQ(figures.rate, 1200.5);
  EXPECT_EQ(figures.rows, std::nullopt) << "not a number is no figure";
}

TEST(PodPages, WhatIsNoSuchPageSaysNothing) {
  for (const char* page :
       {"", "\n\n", "<html>no such page</html>", "attune_process_cpu_cores", "{}", "attune_process_cpu_cores{a=\"b\"}",
        "attune_process_cpu_cores 1x", "# attune_server_rows 7", "attune_process_cpu_cores inf"}) {
    EXPECT_EQ(ReadPodPage(page).cpu_cores, std::nullopt) << page;
    EXPECT_EQ(ReadPodPage(page).rows, std::nullopt) << page;
  }
}

class PodPagesTest : public testing::Test {
 protected:
  JobView View(const std::vector<std::string>& names) {
    JobView view;
    for (const std::string& name : names) view.pods.push_back({.name = name, .state = "Ready", .address = "127.9.9.9"});
    return view;
  }
  // Looks, and returns the pods that were asked.
  std::vector<std::string> Look(JobView& view) {
    asked_.clear();
    pages_.AddTo(view);
    return asked_;
  }

  ManualTime time_;
  milliseconds each_{10};  // that a page takes
  std::string silent_;     // pod that does not answer
  std::vector<std::string> asked_;
  PodPages pages_{[this](const PodView& pod, Duration timeout) -> StatusOr<std::string> {
                    asked_.push_back(pod.name);
                    time_.Advance(std::min<Duration>(each_, timeout));
                    if (pod.name == silent_ || silent_ == "all") return Error(StatusCode::kUnavailable, "no route");
                    return std::string(kPage);
                  },
                  time_};
};

TEST_F(PodPagesTest, EveryPodThatRunsIsAskedAndNoOther) {
  JobView view = View({"a", "b", "c", "d"});
  view.pods[1].state = "Failed: exit code 1";
  view.pods[2].state = "Succeeded";
  view.pods[3].address = "";  // not placed yet
  EXPECT_THAT(Look(view), ElementsAre("a"));
  EXPECT_EQ(view.pods[0].cpu_cores, 0.93);
  EXPECT_EQ(view.pods[0].memory_bytes, 88'000'000U);
  EXPECT_EQ(view.pods[1].cpu_cores, std::nullopt);
  EXPECT_EQ(pages_.problem(), "");
}

TEST_F(PodPagesTest, SlowPodsKeepNobodyWaitingAndComeFirstTheNextTime) {
  each_ = milliseconds(700);
  JobView view = View({"a", "b", "c", "d", "e"});
  EXPECT_THAT(Look(view), ElementsAre("a", "b", "c")) << "the third begins within the time and ends with it";
  JobView next = View({"a", "b", "c", "d", "e"});
  EXPECT_THAT(Look(next), ElementsAre("d", "e", "a"));
  EXPECT_EQ(next.pods[1].cpu_cores, 0.93) << "read at the look before";
}

TEST_F(PodPagesTest, APodThatDoesNotAnswerIsLeftAloneForAWhile) {
  silent_ = "b";
  JobView view = View({"a", "b"});
  EXPECT_THAT(Look(view), ElementsAre("a", "b"));
  EXPECT_EQ(pages_.problem(), "") << "the other one answered";
  JobView next = View({"a", "b"});
  EXPECT_THAT(Look(next), ElementsAre("a"));
  time_.Advance(PodPages::kRetryAfter);
  silent_.clear();
  EXPECT_THAT(Look(next), ElementsAre("a", "b"));
  EXPECT_EQ(next.pods[1].cpu_cores, 0.93);
}

TEST_F(PodPagesTest, WhereNoneAnswersTheReasonStaysUntilOneDoes) {
  silent_ = "all";
  JobView view = View({"a", "b"});
  Look(view);
  EXPECT_THAT(pages_.problem(), HasSubstr("no route"));
  EXPECT_THAT(Look(view), IsEmpty());
  EXPECT_THAT(pages_.problem(), HasSubstr("no route"));
  silent_.clear();
  time_.Advance(PodPages::kRetryAfter);
  Look(view);
  EXPECT_EQ(pages_.problem(), "");
}

TEST_F(PodPagesTest, OldFiguresAreNotShownAndPodsThatAreGoneAreForgotten) {
  JobView view = View({"a"});
  Look(view);
  silent_ = "all";
  time_.Advance(PodPages::kShownFor);
  JobView later = View({"a"});
  Look(later);
  EXPECT_EQ(later.pods[0].cpu_cores, std::nullopt);
  JobView without = View({"b"});
  Look(without);
  silent_.clear();
  JobView again = View({"a"});
  EXPECT_THAT(Look(again), ElementsAre("a")) << "its failure went with it";
}

}  // namespace
}  // namespace attune::cli::pod_pages_test
