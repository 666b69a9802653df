// What the status says of where workers found their rows.
#include "operator/controller/status/telemetry/row_places.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::row_places_test {
namespace {

struct Found {
  uint64_t replicated = 0, owned = 0, fetched = 0, waited = 0, remote = 0, late = 0;
  uint64_t copies = 0, flushed_bytes = 0, refreshed_bytes = 0;
  double oldest_read_seconds = 0;
};

// Within a window of two seconds.
void Report(FakeCluster& cluster, const std::string& pod, const Found& found) {
  cluster.Connect(pod);
  v1::WindowReport& window = cluster.sample.pods.back().window;
  window.set_duration_seconds(2);
  v1::RowAccesses& rows = *window.mutable_worker()->mutable_rows();
  rows.set_replicated(found.replicated);
  rows.set_owned(found.owned);
  rows.set_fetched(found.fetched);
  rows.set_waited(found.waited);
  rows.set_remote(found.remote);
  rows.set_late(found.late);
  v1::RowCopies& copies = *window.mutable_worker()->mutable_copies();
  copies.set_rows(found.copies);
  copies.set_flushed_bytes(found.flushed_bytes);
  copies.set_refreshed_bytes(found.refreshed_bytes);
  copies.set_oldest_read_seconds(found.oldest_read_seconds);
}

TEST(RowPlacesTest, SharesAreOfAllRowsOfAllWorkersAndTheOldestReadIsTheOldestOfAny) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Workers(2));
  EXPECT_FALSE(RowPlacesOf(cluster.Observe(), cluster.now())) << "nothing was reported";
  Report(cluster, "a-worker-0",
         {.replicated = 600,
          .fetched = 300,
          .waited = 50,
          .remote = 50,
          .late = 20,
          .copies = 40,
          .flushed_bytes = 2000,
          .refreshed_bytes = 4000,
          .oldest_read_seconds = 0.0381});
  Report(cluster, "a-worker-1", {.owned = 1000, .copies = 2, .oldest_read_seconds = 0.01});
  const auto places = RowPlacesOf(cluster.Observe(), cluster.now());
  ASSERT_TRUE(places);
  EXPECT_EQ(*places, (api::RowPlaces{.per_second = 1000,
                                     .replicated = 0.3,
                                     .owned = 0.5,
                                     .fetched = 0.15,
                                     .waited = 0.025,
                                     .remote = 0.025,
                                     .late = 0.01,
                                     .copies = 42,
                                     .oldest_read_seconds = 0.038,
                                     .flushed_bytes_per_second = 1000,
                                     .refreshed_bytes_per_second = 2000}));
}

TEST(RowPlacesTest, AnnouncementsThatAreTriedAreWorthALineWhenAllRowsAreRemote) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Workers(1));
  Report(cluster, "a-worker-0", {.remote = 1000});
  v1::Announcements& announcements = *cluster.sample.job->mutable_announcements();
  announcements.set_ignored(true);
  announcements.set_speedup(0.8049);
  const auto places = RowPlacesOf(cluster.Observe(), cluster.now());
  ASSERT_TRUE(places);
  EXPECT_TRUE(places->ignored);
  EXPECT_FALSE(places->on_trial);
  EXPECT_EQ(places->speedup, 0.8);
}

TEST(RowPlacesTest, ATableIsTheSumOfWhatItsServersSay) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  Report(cluster, "a-worker-0", {.replicated = 600, .remote = 50, .copies = 40});
  for (const char* pod : {"a-server-0", "a-server-1"}) {
    cluster.Connect(pod);
    v1::ServerWindow& server = *cluster.sample.pods.back().window.mutable_server();
    v1::TableRows& table = *server.add_tables();
    table.set_name("input");
    table.set_rows(100);
    table.set_row_bytes(4000);
    table.set_announced(30);
    table.set_copies(10);
    table.set_left_cores(0.101);
    table.set_copied_cores(0.2);
    table.set_decided_cores(0.05);
    server.add_tables();  // without a name: left out
  }
  const auto places = RowPlacesOf(cluster.Observe(), cluster.now());
  ASSERT_TRUE(places);
  EXPECT_EQ(places->tables, (std::vector<api::TableRows>{{.name = "input",
                                                          .rows = 200,
                                                          .row_bytes = 8000,
                                                          .announced = 60,
                                                          .copies = 20,
                                                          .left_cores = 0.2,
                                                          .copied_cores = 0.4,
                                                          .decided_cores = 0.1}}));
}

TEST(RowPlacesTest, TablesAreAsFewAndTheirNamesAsDifferentAsTheStatusTakesThem) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  Report(cluster, "a-worker-0", {.replicated = 600});
  cluster.Connect("a-server-0");
  v1::ServerWindow& server = *cluster.sample.pods.back().window.mutable_server();
  for (const char* end : {"one", "another"}) server.add_tables()->set_name(std::string(200, 'n') + end);
  for (int i = 0; i < 100; ++i) server.add_tables()->set_name("table " + std::to_string(i));
  const auto places = RowPlacesOf(cluster.Observe(), cluster.now());
  ASSERT_TRUE(places);
  EXPECT_EQ(places->tables.size(), 32U);
  std::set<std::string> names;
  for (const api::TableRows& table : places->tables) {
    EXPECT_LE(table.name.size(), 128U);
    EXPECT_TRUE(names.insert(table.name).second) << table.name;
  }
}

TEST(RowPlacesTest, AJobThatAnnouncesNothingHasNone) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Workers(1));
  Report(cluster, "a-worker-0", {.remote = 1000});
  EXPECT_FALSE(RowPlacesOf(cluster.Observe(), cluster.now()));
  Report(cluster, "a-worker-0", {.remote = 1000, .late = 1000});
  EXPECT_TRUE(RowPlacesOf(cluster.Observe(), cluster.now())) << "what is announced too late is worth a line";
}

TEST(RowPlacesTest, AnOldReportSaysNothing) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Workers(1));
  Report(cluster, "a-worker-0", {.fetched = 1000});
  cluster.Advance(std::chrono::seconds(20));
  EXPECT_FALSE(RowPlacesOf(cluster.Observe(), cluster.now()));
  Report(cluster, "a-worker-0", {.fetched = 1000});
  cluster.Settle();
  ASSERT_TRUE(cluster.status().rows) << "the status is due";
  EXPECT_EQ(cluster.status().rows->fetched, 1);
}

}  // namespace
}  // namespace attune::controller::row_places_test
