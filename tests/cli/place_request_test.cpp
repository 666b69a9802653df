#include "cli/requests/place_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.h"

namespace attune::cli::place_request_test {
namespace {

using ::testing::HasSubstr;

PlaceArguments Parsed(const std::vector<std::string>& words) {
  return std::get<PlaceArguments>(ParseArguments(words).arguments->command);
}

TEST(PlaceRequest, OnlyWhatIsAskedForIsPatched) {
  EXPECT_EQ(PlacementPatch({.servers = api::ServerPlacement::kWithWorkers, .workers = {}}).dump(),
            R"({"spec":{"placement":{"servers":"WithWorkers"}}})");
  EXPECT_EQ(PlacementPatch({.servers = api::ServerPlacement::kPack, .workers = api::WorkerPlacement::kPack}).dump(),
            R"({"spec":{"placement":{"servers":"Pack","workers":"Pack"}}})");
}

TEST(PlaceRequest, TheChangeIsSaidInTheWordsOfTheManifest) {
  EXPECT_EQ(PlacementChange({}, {.servers = api::ServerPlacement::kPack, .workers = api::WorkerPlacement::kAny}),
            "servers Any -> Pack, workers stay Any");
}

TEST(PlaceRequest, AnEndedJobHasNothingToPlace) {
  api::TrainingJob job;
  job.name = "a";
  EXPECT_TRUE(CheckPlacement(job).ok());
  job.status.conditions.push_back({.type = api::kFailed, .status = "True"});
  EXPECT_THAT(std::string(Message(CheckPlacement(job))), HasSubstr("job a has ended"));
}

TEST(PlaceRequest, TheCommandLine) {
  EXPECT_FALSE(Parsed({"spread", "a"}).pack);
  EXPECT_EQ(Parsed({"spread", "a", "--only", "workers"}).only, "workers");
  EXPECT_TRUE(Parsed({"pack", "a"}).pack);
  EXPECT_EQ(Parsed({"pack"}).job, "") << "the only job";
  EXPECT_TRUE(Parsed({"pack", "a", "--with-workers"}).with_workers);
  EXPECT_FALSE(ParseArguments({"pack", "a", "--only", "pods"}).arguments.has_value());
  EXPECT_FALSE(ParseArguments({"pack", "a", "--only", "servers", "--with-workers"}).arguments.has_value());
}

}  // namespace
}  // namespace attune::cli::place_request_test
