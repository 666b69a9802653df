#include "cli/top/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/golden.h"

namespace attune::cli::fleet_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr double kNow = 1'800'000'062;

std::string Text(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

JobView Training(const std::string& name) {
  JobView view;
  view.name = name;
  view.name_space = "default";
  view.phase = "Running";
  view.fraction = 0.475;
  view.epochs = 1;
  view.loss = 3.1172;
  view.rate = 181'400;
  view.sample_unit = "words";
  view.remaining_seconds = 80;
  view.servers_ready = view.servers_wanted = 2;
  view.workers_ready = 2;
  view.workers_wanted = 3;
  view.server_usage = api::RoleUsage{.cpu_cores = 0.2, .fullest = name + "-server-0", .memory_bytes = 512 << 20};
  view.worker_usage = api::RoleUsage{.cpu_cores = 0.9,
                                     .cpu_limit_cores = 1,
                                     .throttled = 0.1,
                                     .fullest = name + "-worker-1",
                                     .memory_bytes = 84 << 20,
                                     .memory_limit_bytes = 256 << 20};
  return view;
}

JobView Tuned() {
  JobView view = Training("word2vec");
  view.tuning_stage = "Trying";
  view.tuning = "trying 2 servers, 4 workers (from 2 servers, 2 workers): expected +20 % (\u00b130 %)";
  view.decisions = {{.number = 1,
                     .time = "2027-01-15T08:00:30Z",
                     .kind = "Trial",
                     .from = "servers=1 workers=2",
                     .to = "servers=2 workers=2",
                     .expected = "+30 % (\u00b120 %)",
                     .measured = "+61 % (\u00b14.0 %)",
                     .outcome = "Kept"}};
  return view;
}

JobView Stalled() {
  JobView view = Training("a-job-with-a-name-that-says-much-of-what-it-is-for");
  view.trouble = "no step ends: worker-1 is not heard of";
  view.trouble_since = "2027-01-15T08:00:50Z";
  return view;
}

JobView Done() {
  JobView view = Training("done");
  view.phase = "Succeeded";
  view.fraction = 1;
  view.remaining_seconds.reset();
  view.outcome = JobView::Outcome::kSucceeded;
  return view;
}

Fleet Three() {
  Fleet fleet{.jobs = {Done(), Tuned(), Stalled()}, .where = "the cluster of context kind (https://10.0.0.1:6443)"};
  SortFleet(fleet.jobs);
  return fleet;
}

TEST(Fleet, TheSameJobsOnScreensOfSeveralSizes) {
  std::string all;
  for (const auto& [width, height] : {std::pair(80, 24), {140, 40}, {200, 24}, {40, 12}}) {
    const Screen screen{.width = width, .height = height, .color = false, .unicode = true};
    const auto lines = FleetLines(Three(), screen, kNow);
    EXPECT_LE(lines.size(), static_cast<size_t>(height - 1));
    for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), width) << line;
    all += "--- " + std::to_string(width) + "x" + std::to_string(height) + "\n" + Text(lines);
  }
  all += "--- in a pipe\n" + Text(FleetTable(Three(), kNow));
  ExpectGolden(all, "top-jobs.txt");
}

TEST(Fleet, ColorsChangeNoWidth) {
  const Screen plain{.width = 100, .height = 24, .color = false, .unicode = true};
  Screen colored = plain;
  colored.color = true;
  const auto without = FleetLines(Three(), plain, kNow), with = FleetLines(Three(), colored, kNow);
  ASSERT_EQ(with.size(), without.size());
  for (size_t i = 0; i < with.size(); ++i) EXPECT_EQ(DisplayWidth(with[i]), DisplayWidth(without[i])) << with[i];
  EXPECT_THAT(Text(with), HasSubstr("\x1b[32mRunning\x1b[0m"));
}

TEST(Fleet, WhereRowsAreScarceTroubleOfEveryJobComesBeforeTheTunersWords) {
  Fleet fleet = Three();
  // Heading, empty line, heading of the table, three jobs, two notes, the cursor's row.
  const auto lines = FleetLines(fleet, {.width = 120, .height = 9, .color = false, .unicode = true}, kNow);
  EXPECT_THAT(Text(lines), HasSubstr("no step ends: worker-1 is not heard of, for 12s"));
  EXPECT_THAT(Text(lines), HasSubstr("tuner: trying"));
  EXPECT_THAT(Text(lines), Not(HasSubstr("last: "))) << "the second note of a job comes after the first of all";
}

TEST(Fleet, MoreJobsThanRowsAreCountedAndThoseThatHaveNotEndedComeFirst) {
  Fleet fleet;
  for (int i = 0; i < 100; ++i) fleet.jobs.push_back(i % 2 == 0 ? Done() : Training("job-" + std::to_string(i)));
  SortFleet(fleet.jobs);
  const auto lines = FleetLines(fleet, {.width = 80, .height = 24, .color = false, .unicode = true}, kNow);
  EXPECT_THAT(lines, SizeIs(23));
  EXPECT_THAT(lines.front(), HasSubstr("100 jobs, 50 not ended"));
  EXPECT_THAT(lines.back(), HasSubstr("... and 81 more"));
  EXPECT_THAT(Text(lines), Not(HasSubstr("Succeeded")));
}

TEST(Fleet, SaysWhenWhatIsShownIsNotNewAndWhenThereIsNothing) {
  Fleet fleet = Three();
  fleet.problem = "not new: asking the cluster: no answer\nfor 5 s";
  const Screen screen{.width = 80, .height = 24, .color = false, .unicode = false};
  EXPECT_EQ(FleetLines(fleet, screen, kNow)[1], "not new: asking the cluster: no answer for 5 s");
  fleet.jobs.clear();
  EXPECT_THAT(FleetLines(fleet, screen, kNow).back(), HasSubstr("attune run FILE"));
}

TEST(Fleet, WithoutUtf8NothingButAsciiIsLeftAndEveryLineKeepsItsWidth) {
  const Screen screen{.width = 120, .height = 24, .color = false, .unicode = false};
  for (const std::string& line : FleetLines(Three(), screen, kNow)) {
    const std::string plain = AsAscii(line);
    EXPECT_TRUE(std::all_of(plain.begin(), plain.end(), [](char c) { return c >= ' ' && c <= '~'; })) << plain;
    EXPECT_EQ(plain.size(), static_cast<size_t>(DisplayWidth(line)));
  }
  EXPECT_EQ(AsAscii("measured +61 % (\u00b14 %) \u2192 \u20ac"), "measured +61 % (~4 %) > ?");
}

TEST(Fleet, JsonHasWhatTheTableHasAndMore) {
  const kube::Json all = FleetJson(Three(), kNow);
  ASSERT_EQ(all["jobs"].size(), 3U);
  const kube::Json& tuned = all["jobs"][1];
  EXPECT_EQ(tuned["job"], "word2vec");
  EXPECT_EQ(tuned["workers"]["usage"]["memoryLimitBytes"], 256 << 20);
  EXPECT_EQ(tuned["workers"]["usage"]["throttled"], 0.1);
  EXPECT_FALSE(tuned["servers"]["usage"].contains("memoryLimitBytes")) << "they have none";
  EXPECT_EQ(tuned["tuning"]["decisions"][0]["outcome"], "Kept");
  EXPECT_EQ(all["jobs"][0]["trouble"], "no step ends: worker-1 is not heard of");
}

}  // namespace
}  // namespace attune::cli::fleet_test
