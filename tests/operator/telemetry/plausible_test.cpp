#include "operator/telemetry/plausible.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace attune::telemetry::plausible_test {
namespace {

using google::protobuf::util::MessageDifferencer;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

v1::SidecarHello Hello(const std::string& role) {
  v1::SidecarHello hello;
  hello.set_role(role);
  return hello;
}

v1::PodReport WorkerReport() {
  v1::PodReport report;
  report.mutable_window()->set_sequence(1);
  report.mutable_window()->set_duration_seconds(2);
  report.mutable_window()->mutable_worker()->set_samples(300);
  report.mutable_window()->mutable_worker()->set_loss_mean(-1.5);
  report.mutable_window()->mutable_worker()->set_loss_count(5);
  report.mutable_window()->mutable_worker()->set_sample_unit("words");
  report.mutable_usage()->set_cpu_seconds(1);
  return report;
}

v1::PodReport ServerReport() {
  v1::PodReport report;
  report.mutable_window()->set_sequence(1);
  report.mutable_window()->set_duration_seconds(1);
  report.mutable_window()->mutable_server()->set_rows(7);
  report.mutable_window()->mutable_job()->set_items_done(3);
  report.mutable_window()->mutable_job()->add_server_states()->set_index(1);
  report.mutable_window()->mutable_server()->set_coordinator_silent_seconds(0.5);
  report.mutable_window()->mutable_leader_lease()->set_term(3);
  for (const uint32_t node : {1U, 4U}) report.mutable_window()->mutable_leader_lease()->add_wanted_voters(node);
  return report;
}

TEST(PlausibleTest, WhatCanBeTrueStaysAsItIs) {
  for (const auto& [role, report] : {std::pair{"worker", WorkerReport()}, std::pair{"server", ServerReport()}}) {
    v1::PodReport checked = report;
    EXPECT_EQ(KeepPlausible(Hello(role), checked), "");
    EXPECT_TRUE(MessageDifferencer::Equals(checked, report));
  }
}

TEST(PlausibleTest, VotersAreNodesAscendingAndOfAServer) {
  const auto check = [](const char* role, const std::vector<uint32_t>& wanted) {
    v1::PodReport report;
    report.mutable_window()->mutable_leader_lease()->set_held(true);
    report.mutable_window()->mutable_leader_lease()->mutable_wanted_voters()->Assign(wanted.begin(), wanted.end());
    const std::string problem = KeepPlausible(Hello(role), report);
    EXPECT_EQ(report.window().has_leader_lease(), problem.empty());
    return problem;
  };
  std::vector<uint32_t> many(1024);
  std::iota(many.begin(), many.end(), 1);
  EXPECT_EQ(check("server", many), "");
  many.push_back(2000);
  EXPECT_EQ(check("server", many), "window.leader_lease.wanted_voters: too many entries");
  EXPECT_EQ(check("server", {2, 1}), "window.leader_lease.wanted_voters: not ascending");
  EXPECT_EQ(check("server", {2, 2}), "window.leader_lease.wanted_voters: not ascending");
  EXPECT_EQ(check("server", {0, 2}), "window.leader_lease.wanted_voters: no number of a node");
  EXPECT_EQ(check("worker", {1}), "window.leader_lease.a worker's window has none");
}

TEST(PlausibleTest, ABadPartGoesByNameAndTheGoodOnesStay) {
  v1::PodReport report = WorkerReport();
  report.mutable_usage()->set_throttled_seconds(-1);
  EXPECT_EQ(KeepPlausible(Hello("worker"), report), "usage.throttled_seconds: no sensible number");
  EXPECT_FALSE(report.has_usage());
  EXPECT_EQ(report.window().worker().samples(), 300U);

  report = WorkerReport();
  report.mutable_window()->mutable_worker()->mutable_step_seconds()->set_p99(kNan);
  EXPECT_EQ(KeepPlausible(Hello("worker"), report), "window.worker.step_seconds.p99: no sensible number");
  EXPECT_FALSE(report.window().has_worker());
  EXPECT_TRUE(report.has_usage());

  report = ServerReport();
  report.mutable_window()->mutable_job()->set_trained_seconds(kNan);
  KeepPlausible(Hello("server"), report);
  EXPECT_FALSE(report.window().has_job());
  EXPECT_EQ(report.window().server().rows(), 7U);
}

TEST(PlausibleTest, ALossThatIsNoNumberLeavesTheRestOfItsWindow) {
  v1::PodReport report = WorkerReport();
  report.mutable_window()->mutable_worker()->set_loss_mean(kNan);
  EXPECT_EQ(KeepPlausible(Hello("worker"), report), "window.worker.loss_mean: no sensible number");
  EXPECT_EQ(report.window().worker().samples(), 300U);
  EXPECT_EQ(report.window().worker().loss_count(), 0U);
  report.mutable_window()->mutable_worker()->set_loss_mean(kNan);
  EXPECT_EQ(KeepPlausible(Hello("worker"), report), "") << "without a count it means nothing";
}

TEST(PlausibleTest, OfMetricsThoseGoThatCannotBeShown) {
  v1::PodReport report = ServerReport();
  const auto add = [&](const std::string& name, double value) {
    v1::JobMetric& metric = *report.mutable_window()->mutable_job()->add_metrics();
    metric.set_name(name);
    metric.set_value(value);
    metric.set_best(value);
  };
  add("held_out_loss", -3.5);
  add("bad name\x1b[2J", 1);
  add("diverged", kNan);
  add("held_out_loss", 4);
  for (int i = 0; i < 40; ++i) add("m" + std::to_string(i), i);
  const std::string removed = KeepPlausible(Hello("server"), report);
  const auto& kept = report.window().job().metrics();
  ASSERT_EQ(kept.size(), 31) << "one of the 32 names had no value";
  EXPECT_EQ(kept[0].name(), "held_out_loss");
  EXPECT_EQ(kept[0].value(), -3.5) << "a figure may be negative";
  EXPECT_EQ(kept[1].name(), "m0");
  EXPECT_EQ(report.window().job().items_done(), 3U) << "the rest of the window is true";
  for (const char* word : {"bad name", "diverged: value", "held_out_loss: a name twice", "m31: more than 32"}) {
    EXPECT_NE(removed.find(word), std::string::npos) << word << " in " << removed;
  }
  EXPECT_EQ(removed.find('\x1b'), std::string::npos);
}

TEST(PlausibleTest, PartsOfAnotherRoleGo) {
  v1::PodReport report = ServerReport();
  EXPECT_NE(KeepPlausible(Hello("worker"), report), "");
  EXPECT_FALSE(report.window().has_job());
  EXPECT_FALSE(report.window().has_server());
  report = WorkerReport();
  EXPECT_NE(KeepPlausible(Hello("server"), report), "");
  EXPECT_FALSE(report.window().has_worker());
}

TEST(PlausibleTest, WhatBecomesAnIndexACountOrALengthIsBounded) {
  v1::PodReport report = ServerReport();
  report.mutable_window()->mutable_job()->mutable_server_states(0)->set_index(4'000'000'000);
  KeepPlausible(Hello("server"), report);
  EXPECT_FALSE(report.window().has_job());

  report = ServerReport();
  report.mutable_window()->mutable_job()->set_term(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(KeepPlausible(Hello("server"), report), "window.job.term: too large a count");

  report = ServerReport();
  for (int i = 0; i < 2'000; ++i) report.mutable_window()->mutable_job()->add_server_states();
  KeepPlausible(Hello("server"), report);
  EXPECT_FALSE(report.window().has_job());

  report = WorkerReport();
  report.mutable_window()->set_duration_seconds(1e9);
  EXPECT_EQ(KeepPlausible(Hello("worker"), report), "window.duration_seconds: too long");
  EXPECT_FALSE(report.has_window());

  report = WorkerReport();
  report.mutable_window()->set_duration_seconds(1e-300);
  EXPECT_EQ(KeepPlausible(Hello("worker"), report), "window.duration_seconds: too short") << "a rate would be infinite";

  report = ServerReport();
  report.mutable_window()->mutable_job()->mutable_synchronization()->set_mode(
      static_cast<v1::Synchronization::Mode>(77));
  EXPECT_EQ(KeepPlausible(Hello("server"), report), "window.job.synchronization.mode: no known value");
}

TEST(PlausibleTest, TextsCannotSteerATerminal) {
  v1::PodReport report = WorkerReport();
  report.mutable_window()->mutable_worker()->set_sample_unit("\x1b[2Jwo\xc2\x9brds");
  EXPECT_EQ(KeepPlausible(Hello("worker"), report), "");
  EXPECT_EQ(report.window().worker().sample_unit(), " [2Jwo rds");
  v1::FinalReport final_report;
  final_report.set_summary("two\nlines\a");
  (*final_report.mutable_metrics())["loss\x1b"] = 1;
  (*final_report.mutable_metrics())["good"] = 2;
  (*final_report.mutable_metrics())["none"] = kNan;
  EXPECT_NE(KeepPlausible(final_report), "");
  EXPECT_EQ(final_report.summary(), "two\nlines ");
  EXPECT_EQ(final_report.metrics_size(), 1);
  EXPECT_EQ(final_report.metrics().at("good"), 2);
}

TEST(PlausibleTest, LongTextsAreCutAtACharacter) {
  EXPECT_EQ(CleanText("abc", 3), "abc");
  EXPECT_EQ(CleanText("ab\u00e9", 3), "ab");
  v1::FinalReport report;
  report.set_summary(std::string(20 << 10, 'x'));
  report.set_model_path(std::string(20 << 10, 'x'));
  for (int i = 0; i < 1'000; ++i) (*report.mutable_metrics())[std::to_string(i)] = i;
  KeepPlausible(report);
  EXPECT_EQ(report.summary().size(), 16U << 10);
  EXPECT_EQ(report.model_path().size(), 4U << 10);
  EXPECT_EQ(report.metrics_size(), 256);
  EXPECT_EQ(report.left_out(), "metrics.744 beyond 256");
}

TEST(PlausibleTest, WhatIsLeftOutOfAResultIsNamedInIt) {
  v1::FinalReport report;
  report.set_left_out("1 metric without a finite value (recall)");
  (*report.mutable_metrics())["loss"] = 2;
  (*report.mutable_metrics())["none"] = kNan;
  EXPECT_EQ(KeepPlausible(report), "metrics.none: no finite number");
  EXPECT_EQ(report.left_out(), "1 metric without a finite value (recall); metrics.none: no finite number");
  EXPECT_EQ(report.metrics().at("loss"), 2);
}

}  // namespace
}  // namespace attune::telemetry::plausible_test
