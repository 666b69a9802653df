// What happens to a row of a running job, asked of all its processes. As stories over FakeCluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::row_trace_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Outcome = telemetry::DirectiveAnswer::Outcome;

constexpr char kRequest[] = "id=7 seconds=10 row=input:17";

FakeCluster Asked(const std::string& request = kRequest) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().row_trace_request = request;
  cluster.Settle();
  return cluster;
}

// What each process says of the row: of `pod`, its name.
void AnswerAll(FakeCluster& cluster) {
  cluster.Answer("row trace of ", Outcome::kDone);
  for (auto& [key, answer] : cluster.sample.answers) {
    if (key.starts_with("row trace of ")) answer.lines = {"0.001 s  read by the program"};
  }
  cluster.Settle();
}

TEST(RowTrace, EveryProcessIsAskedOnceAndTheirAnswersComeTogether) {
  FakeCluster cluster = Asked();
  EXPECT_EQ(cluster.sent_texts().size(), 2U);
  EXPECT_FALSE(cluster.status().row_trace.has_value());
  AnswerAll(cluster);
  ASSERT_TRUE(cluster.status().row_trace.has_value());
  const api::RowTraceStatus& trace = *cluster.status().row_trace;
  EXPECT_EQ(trace.request, kRequest);
  EXPECT_EQ(trace.message, "");
  ASSERT_EQ(trace.pods.size(), 2U);
  EXPECT_EQ(trace.pods[0].pod, "a-server-0");
  EXPECT_EQ(trace.pods[1].pod, "a-worker-0");
  EXPECT_THAT(trace.pods[1].events, ElementsAre("0.001 s  read by the program"));
  cluster.RestartOperator();
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 2U) << "also for a restarted operator";
}

TEST(RowTrace, WhoCannotSayIsNamedWithTheReason) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(2));
  cluster.Connect("a-worker-1", false);
  cluster.job().row_trace_request = kRequest;
  cluster.Settle();
  cluster.Answer("row trace of ", Outcome::kRefused, "this server has no table 'input'");
  cluster.Settle();
  ASSERT_TRUE(cluster.status().row_trace.has_value());
  const auto& pods = cluster.status().row_trace->pods;
  ASSERT_EQ(pods.size(), 3U);
  EXPECT_EQ(pods[0].message, "this server has no table 'input'");
  EXPECT_THAT(pods[2].message, HasSubstr("sidecar is away"));
}

TEST(RowTrace, AProcessThatDoesNotAnswerIsGivenUp) {
  FakeCluster cluster = Asked();
  cluster.Advance(seconds(19));
  cluster.Settle();
  EXPECT_FALSE(cluster.status().row_trace.has_value());
  cluster.Advance(seconds(2));
  cluster.Settle();
  ASSERT_TRUE(cluster.status().row_trace.has_value());
  for (const auto& pod : cluster.status().row_trace->pods) EXPECT_THAT(pod.message, HasSubstr("not answered in time"));
}

TEST(RowTrace, AProcessWhoseConnectionEndsIsNotAskedAgain) {
  FakeCluster cluster = Asked();
  cluster.Answer("row trace of ", Outcome::kLost);
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 2U);
  ASSERT_TRUE(cluster.status().row_trace.has_value());
  for (const auto& pod : cluster.status().row_trace->pods) EXPECT_THAT(pod.message, HasSubstr("connection ended"));
}

TEST(RowTrace, AProcessThatComesLaterMakesTheRequestNoLonger) {
  FakeCluster cluster = Asked();
  cluster.Advance(seconds(15));
  cluster.job().spec.workers.replicas = 2;
  ++cluster.job().generation;
  cluster.Settle();
  cluster.StartAll();
  cluster.Connect("a-worker-1");
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 3U);
  EXPECT_FALSE(cluster.status().row_trace.has_value());
  cluster.Advance(seconds(6));
  cluster.Settle();
  ASSERT_TRUE(cluster.status().row_trace.has_value());
  EXPECT_EQ(cluster.status().row_trace->pods.size(), 3U);
}

TEST(RowTrace, ARequestThatSaysNothingIsAnsweredWithWhatIsPossible) {
  for (const char* request :
       {"input:17", "id=7 seconds=0 row=input:17", "id=7 seconds=61 row=input:17", "id=7 seconds=nan row=input:17",
        "id=7 seconds=1 row=input", "id=7 seconds=1 row=:3", "id=7 seconds=1 row=input:-1"}) {
    const FakeCluster cluster = Asked(request);
    EXPECT_THAT(cluster.sent_texts(), IsEmpty());
    ASSERT_TRUE(cluster.status().row_trace.has_value()) << request;
    EXPECT_THAT(cluster.status().row_trace->message, HasSubstr("input:17")) << request;
  }
}

TEST(RowTrace, WhatWasSeenIsForgottenSomeMinutesLaterAndNotAskedForAgain) {
  FakeCluster cluster = Asked();
  AnswerAll(cluster);
  cluster.Advance(minutes(4));
  cluster.Settle();
  EXPECT_EQ(cluster.status().row_trace->pods.size(), 2U);
  cluster.Advance(minutes(2));
  cluster.Settle();
  EXPECT_THAT(cluster.status().row_trace->pods, IsEmpty());
  EXPECT_EQ(cluster.status().row_trace->request, kRequest);
  cluster.Advance(minutes(20));
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 2U);
  cluster.job().row_trace_request = "id=8 seconds=10 row=input:17";
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 4U) << "another request is another trace";
}

}  // namespace
}  // namespace attune::controller::row_trace_test
