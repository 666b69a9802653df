#include "ps/runtime/server/server_window.h"

#include <gtest/gtest.h>

namespace attune::ps::server_window_test {
namespace {

constexpr MonotonicTime kBegin{std::chrono::seconds(100)};

TEST(ServerWindowTest, CountersAreDifferencesAndTheRestIsAsItIs) {
  ServerWindow window(kBegin);
  ServerFigures figures;
  figures.counters.pulls = 10;
  figures.bytes.bytes_sent = 1000;
  figures.bytes.connections = 3;
  figures.rows = 5;
  figures.row_bytes = 500;
  figures.parked_pulls = 2;
  figures.bytes.bytes_waiting = 64;
  figures.goal_reached = true;
  figures.serving_cpu_seconds = 0.5;
  figures.tables = {
      {.name = "input",
       .rows = 5,
       .row_bytes = 500,
       .interests = {.announced = 4, .copies = 1, .left_cores = 0.5, .copied_cores = 0.75, .decided_cores = 0.25}}};
  v1::WindowReport report = window.Take(figures, kBegin + std::chrono::seconds(2));
  EXPECT_EQ(report.duration_seconds(), 2);
  EXPECT_EQ(report.server().pulls(), 10U);
  EXPECT_EQ(report.server().bytes_sent(), 1000U);
  EXPECT_EQ(report.server().serving_cpu_seconds(), 0.5);
  figures.counters.pulls = 14;
  figures.serving_cpu_seconds = 0.75;
  figures.bytes.bytes_sent = 1001;
  report = window.Take(figures, kBegin + std::chrono::seconds(3));
  EXPECT_EQ(report.duration_seconds(), 1);
  EXPECT_EQ(report.server().pulls(), 4U);
  EXPECT_EQ(report.server().bytes_sent(), 1U);
  EXPECT_EQ(report.server().serving_cpu_seconds(), 0.25);
  EXPECT_EQ(report.server().connections(), 3U);
  EXPECT_EQ(report.server().parked_pulls(), 2U);
  EXPECT_EQ(report.server().waiting_bytes(), 64U);
  EXPECT_EQ(report.server().rows(), 5U);
  EXPECT_TRUE(report.server().goal_reached());
  ASSERT_EQ(report.server().tables_size(), 1);
  const v1::TableRows& table = report.server().tables(0);
  EXPECT_EQ(table.name(), "input");
  EXPECT_EQ(table.announced(), 4U);
  EXPECT_EQ(table.copies(), 1U);
  EXPECT_EQ(table.left_cores() + table.copied_cores(), 1.25);
  EXPECT_EQ(table.decided_cores(), 0.25);
}

TEST(ServerWindowTest, ARelocationIsReportedWhileRowsMoveAndSurvivesAnotherCoordinator) {
  ServerWindow window(kBegin);
  ServerFigures figures;
  figures.rows = 10;
  figures.row_bytes = 400;
  const auto take = [&](uint64_t moved, uint64_t to_come) {
    v1::WindowReport report = window.Take(figures, kBegin + std::chrono::seconds(moved));
    JobProgress progress;
    progress.rows_moved = moved;
    progress.rows_to_come = to_come;
    window.AddRelocation(progress, &report);
    return report;
  };
  EXPECT_FALSE(take(0, 0).job().has_relocation());
  const v1::WindowReport moving = take(2, 7);
  EXPECT_EQ(moving.job().relocation().bytes_left(), 280U) << "at 40 bytes per row";
  EXPECT_EQ(moving.job().relocation().rows_per_second(), 1) << "two rows in two seconds";
  // A new coordinator counts from 0: what it reports is what it has moved.
  ServerWindow other(kBegin);
  JobProgress progress;
  v1::WindowReport report = other.Take(figures, kBegin + std::chrono::seconds(1));
  progress.rows_moved = 90;
  other.AddRelocation(progress, &report);
  report = other.Take(figures, kBegin + std::chrono::seconds(2));
  progress.rows_moved = 3;
  other.AddRelocation(progress, &report);
  EXPECT_EQ(report.job().relocation().rows_per_second(), 3);
}

}  // namespace
}  // namespace attune::ps::server_window_test
