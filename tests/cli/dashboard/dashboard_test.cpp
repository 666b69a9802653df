#include "cli/dashboard/dashboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/fuzz/http_client.h"

namespace attune::cli::dashboard_test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr Duration kLong = std::chrono::minutes(10);  // only a failing test waits for it

class DashboardTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = Dashboard::Start(0, time_);
    ASSERT_TRUE(started.ok()) << started.status();
    dashboard_ = *std::move(started);
    const std::string url = dashboard_->url();
    port_ = static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    token_ = url.substr(url.find('=') + 1);
  }
  std::string Ask(const std::string& path) const {
    return fuzz::Exchange(
        port_, "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token_ + "\r\n\r\n");
  }
  void Show(const std::string& phase) {
    history_.name = "word2vec";
    history_.name_space = "default";
    history_.phase = phase;
    dashboard_->Show(history_);
  }

  ManualTime time_;
  RunHistory history_;
  std::unique_ptr<Dashboard> dashboard_;
  uint16_t port_ = 0;
  std::string token_;
};

TEST_F(DashboardTest, ShowsWhatItWasGivenLast) {
  EXPECT_THAT(Ask("/"), HasSubstr("The run is starting"));
  Show("Running");
  EXPECT_THAT(Ask("/data"), HasSubstr("Running"));
  Show("Succeeded");
  EXPECT_THAT(Ask("/data"), HasSubstr("Succeeded")) << "a new phase is seen at once";
  history_.loss = 1.25;
  Show("Succeeded");
  EXPECT_THAT(Ask("/data"), Not(HasSubstr("1.25"))) << "figures are copied once a second";
  time_.Advance(std::chrono::seconds(1));
  Show("Succeeded");
  EXPECT_THAT(Ask("/data"), HasSubstr("1.25"));
}

TEST_F(DashboardTest, TokensAreLongAndOfOneRun) {
  EXPECT_THAT(token_, MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(token_.size(), 48U);
  const auto other = Dashboard::Start(0, time_);
  ASSERT_TRUE(other.ok());
  EXPECT_THAT((*other)->url(), Not(HasSubstr(token_)));
}

TEST_F(DashboardTest, APortThatIsTakenIsAnErrorThatNamesItAndSaysWhatToDo) {
  const auto second = Dashboard::Start(port_, time_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(ToString(second.status()), HasSubstr("--dashboard=" + std::to_string(port_)));
  EXPECT_THAT(ToString(second.status()), HasSubstr("choose another port"));
  EXPECT_THAT(ToString(second.status()), HasSubstr("without a number a free port is chosen"));
}

TEST_F(DashboardTest, MetricsComeFromTheirSourceAsLongAsThereIsOne) {
  EXPECT_THAT(Ask("/metrics"), StartsWith("HTTP/1.1 503 "));
  dashboard_->ShowMetrics([] { return std::string("attune_job_loss 2.5\n"); });
  EXPECT_THAT(Ask("/metrics"), HasSubstr("attune_job_loss 2.5"));
  dashboard_->ShowMetrics({});
  EXPECT_THAT(Ask("/metrics"), StartsWith("HTTP/1.1 503 "));
}

TEST_F(DashboardTest, TheEndOfARunWaitsForNobodyWhereNobodyLooks) {
  Show("Running");
  dashboard_->AwaitLastLook(kLong);
  EXPECT_THAT(Ask("/"), StartsWith("HTTP/1.1 200 "));
  time_.Advance(std::chrono::minutes(1));  // the page was closed
  Show("Succeeded");
  dashboard_->AwaitLastLook(kLong);
  EXPECT_THAT(Ask("/data"), HasSubstr("Succeeded"));
  dashboard_->AwaitLastLook(kLong);  // it has been seen
}

TEST_F(DashboardTest, APageThatIsOpenSeesHowTheJobEnded) {
  Show("Running");
  EXPECT_THAT(Ask("/"), HasSubstr("Running"));
  Show("Succeeded");
  std::thread browser([this] { EXPECT_THAT(Ask("/data"), HasSubstr("Succeeded")); });
  dashboard_->AwaitLastLook(kLong);
  browser.join();
}

TEST_F(DashboardTest, AStrangerDoesNotKeepTheRunFromEnding) {
  Show("Running");
  fuzz::Exchange(port_, "GET /data HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  Show("Succeeded");
  dashboard_->AwaitLastLook(kLong);
}

}  // namespace
}  // namespace attune::cli::dashboard_test
