#include "operator/tuner/space/search_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::tuner::search_space_test {
namespace {

using ::testing::HasSubstr;

SpaceDescription Box() { return {.knobs = {{"servers", 1, 8}, {"workers", 1, 16}, {"threads", 1, 4}}}; }

TEST(SearchSpaceTest, ABoxIsEnumeratedInFull) {
  const auto space = SearchSpace::Create(Box());
  ASSERT_TRUE(space.ok()) << space.status();
  EXPECT_EQ(space->size(), 8 * 16 * 4);
  EXPECT_FALSE(space->thinned());
  const auto id = space->Find({2, 8, 3});
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(space->Text(*id), "servers=2 workers=8 threads=3");
  EXPECT_EQ(space->Value(*id, "workers", -1), 8);
  EXPECT_EQ(space->Value(*id, "learners", -1), -1);
  EXPECT_EQ(space->cost(0), CostClass::kRelocation);
  EXPECT_EQ(space->cost(2), CostClass::kLive);
  EXPECT_FALSE(space->Find({9, 1, 1}).has_value());
  EXPECT_EQ(space->setting(space->Nearest({9, 17, 9})), (Setting{8, 16, 4}));
}

TEST(SearchSpaceTest, SlackIsTriedAtAFewLevels) {
  const auto space = SearchSpace::Create({.knobs = {{"slack", 0, kSlackAsync}, {"workers", 1, 2}}});
  ASSERT_TRUE(space.ok());
  EXPECT_EQ(space->size(), 8 * 2);
  EXPECT_FALSE(space->thinned());
  EXPECT_EQ(space->Text(*space->Find({0, 2})), "slack=bsp workers=2");
  EXPECT_EQ(space->Text(*space->Find({4, 1})), "slack=ssp:4 workers=1");
  EXPECT_EQ(space->Text(*space->Find({kSlackAsync, 1})), "slack=async workers=1");
  const auto narrow = SearchSpace::Create({.knobs = {{"slack", 3, 10}}, .current = Setting{5}});
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ(narrow->size(), 5) << "3, 4, 8, 10, and 5 where the job stands";
  EXPECT_EQ(SearchSpace::Create({.knobs = {{"slack", 0, 0}}})->size(), 1);
  // Together with wide ranges fewer levels are left, the ends among them.
  const auto wide = SearchSpace::Create({.knobs = {{"servers", 1, 64}, {"slack", 0, kSlackAsync}, {"workers", 1, 64}}});
  ASSERT_TRUE(wide.ok());
  EXPECT_LE(wide->size(), kSettingsMax);
  EXPECT_TRUE(wide->Find({1, 0, 1}).has_value());
  EXPECT_TRUE(wide->Find({64, kSlackAsync, 64}).has_value());
}

TEST(SearchSpaceTest, LimitsOfPodsAreTriedAtLevelsOfAQuarter) {
  const auto space = SearchSpace::Create({.knobs = {{"worker_millicores", 250, 4000}}});
  ASSERT_TRUE(space.ok());
  EXPECT_THAT(space->levels(0),
              ::testing::ElementsAre(250, 315, 397, 500, 630, 794, 1000, 1260, 1587, 2000, 2520, 3175, 4000));
  EXPECT_FALSE(space->thinned());
  const auto narrow = SearchSpace::Create({.knobs = {{"server_memory_mib", 1024, 1100}}});
  ASSERT_TRUE(narrow.ok());
  EXPECT_THAT(narrow->levels(0), ::testing::ElementsAre(1024, 1100));
  const auto fixed = SearchSpace::Create({.knobs = {{"worker_millicores", 300, 300}}});
  ASSERT_TRUE(fixed.ok());
  EXPECT_THAT(fixed->levels(0), ::testing::ElementsAre(300));
}

TEST(SearchSpaceTest, WhereAJobStandsIsALevelOfItsLimits) {
  const auto space =
      SearchSpace::Create({.knobs = {{"workers", 1, 4}, {"worker_millicores", 250, 4000}}, .current = Setting{2, 900}});
  ASSERT_TRUE(space.ok());
  EXPECT_TRUE(space->Find({4, 900}).has_value());
  EXPECT_FALSE(space->Find({4, 1000}).has_value()) << "it takes the place of the nearest level";
  EXPECT_TRUE(space->Find({4, 250}).has_value());
  const auto wide = SearchSpace::Create({.knobs = {{"servers", 1, 16},
                                                   {"workers", 1, 16},
                                                   {"worker_millicores", 250, 8000},
                                                   {"server_millicores", 250, 8000}},
                                         .current = Setting{3, 3, 300, 700}});
  ASSERT_TRUE(wide.ok());
  EXPECT_LE(wide->size(), kSettingsMax + 1);
  EXPECT_TRUE(wide->Find({1, 16, 300, 700}).has_value());
  EXPECT_TRUE(wide->Find({16, 1, 250, 8000}).has_value());
}

// A coarse grid would miss what a quota leaves, and every level that matters.
TEST(SearchSpaceTest, LimitsOfPodsBesideOtherKnobsAreStaggered) {
  SpaceDescription description{.knobs = {{"servers", 1, 6},
                                         {"workers", 1, 10},
                                         {"worker_millicores", 250, 4000},
                                         {"server_millicores", 250, 4000}},
                               .current = Setting{2, 3, 500, 1000}};
  const auto space = SearchSpace::Create(description);
  ASSERT_TRUE(space.ok());
  EXPECT_LE(space->size(), kSettingsMax);
  EXPECT_GT(space->size(), kSettingsMax / 2);
  for (int servers = 1; servers <= 6; ++servers) {
    for (int workers = 1; workers <= 10; ++workers)
      EXPECT_TRUE(space->Find({servers, workers, 4000, 4000}) && space->Find({servers, workers, 500, 1000}));
  }
  EXPECT_EQ(space->levels(2).size(), 13U) << "each occurs with some of the others";
  EXPECT_EQ(space->levels(3).size(), 13U);

  description.limits = {{.terms = {{1, {"workers", "worker_millicores"}}, {1, {"servers", "server_millicores"}}},
                         .most = 8000,
                         .what = "8 cores"}};
  const auto limited = SearchSpace::Create(description);
  ASSERT_TRUE(limited.ok());
  EXPECT_LE(limited->size(), kSettingsMax);
  int full = 0;
  for (int id = 0; id < limited->size(); ++id) {
    const Setting& s = limited->setting(id);
    const int used = s[0] * s[3] + s[1] * s[2];
    EXPECT_LE(used, 8000);
    full += used > 7000 ? 1 : 0;
  }
  EXPECT_GT(full, limited->size() / 6) << "what cannot be raised";
}

TEST(SearchSpaceTest, LimitsAndAllowedListsCut) {
  SpaceDescription description = Box();
  description.limits = {{.terms = {{1, {"workers", "threads"}}, {1, {"servers"}}}, .most = 12, .what = "12 cores"}};
  const auto limited = SearchSpace::Create(description);
  ASSERT_TRUE(limited.ok());
  for (int id = 0; id < limited->size(); ++id) {
    const Setting& s = limited->setting(id);
    EXPECT_LE(s[1] * s[2] + s[0], 12);
  }
  EXPECT_TRUE(limited->Find({8, 4, 1}).has_value());
  EXPECT_FALSE(limited->Find({8, 5, 1}).has_value());

  description = Box();
  description.allowed = {{1, 1, 1}, {2, 4, 2}, {2, 4, 2}, {99, 1, 1}};  // twice the same, one out of range
  description.current = Setting{3, 3, 3};
  const auto listed = SearchSpace::Create(description);
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed->size(), 3) << "two allowed ones and where the job stands";
  EXPECT_FALSE(listed->MayPropose(*listed->Find({3, 3, 3})));
  EXPECT_TRUE(listed->MayPropose(*listed->Find({2, 4, 2})));
}

TEST(SearchSpaceTest, WideRangesAreThinnedToLevelsThatKeepTheEnds) {
  SpaceDescription wide{.knobs = {{"servers", 1, 256}, {"workers", 1, 1024}, {"threads", 1, 64}}};
  wide.current = Setting{7, 77, 7};
  const auto space = SearchSpace::Create(wide);
  ASSERT_TRUE(space.ok());
  EXPECT_LE(space->size(), kSettingsMax + 1);
  EXPECT_GT(space->size(), kSettingsMax / 4);
  EXPECT_TRUE(space->thinned());
  EXPECT_TRUE(space->Find({1, 1, 1}).has_value());
  EXPECT_TRUE(space->Find({256, 1024, 64}).has_value());
  EXPECT_TRUE(space->MayPropose(*space->Find({7, 77, 7}))) << "only thinning left it out";
}

struct BadCase {
  const char* what;
  SpaceDescription description;
  const char* want;
};

TEST(SearchSpaceTest, ContradictionsAreNamed) {
  const std::vector<BadCase> cases = {
      {"no knobs", {}, "no knobs"},
      {"an empty range", {.knobs = {{"servers", 5, 2}}}, "knob servers: range [5, 2] is empty"},
      {"a knob named twice", {.knobs = {{"servers", 1, 2}, {"servers", 1, 2}}}, "named twice"},
      {"a negative value", {.knobs = {{"servers", -1, 2}}}, "must lie in 0.."},
      {"a limit on an unknown knob",
       {.knobs = {{"servers", 1, 2}}, .limits = {{.terms = {{1, {"chiefs"}}}, .most = 1, .what = "chiefs"}}},
       "names chiefs"},
      {"a policy that forbids everything",
       {.knobs = {{"servers", 2, 4}}, .limits = {{.terms = {{1, {"servers"}}}, .most = 1}}},
       "no setting is left"},
      {"an allowed list outside the ranges", {.knobs = {{"servers", 2, 4}}, .allowed = {{7}}}, "no setting is left"},
  };
  for (const BadCase& one : cases) {
    const auto space = SearchSpace::Create(one.description);
    ASSERT_FALSE(space.ok()) << one.what;
    EXPECT_EQ(space.status().code(), StatusCode::kInvalidArgument) << one.what;
    EXPECT_THAT(std::string(Message(space.status())), HasSubstr(one.want)) << one.what;
  }
}

}  // namespace
}  // namespace attune::tuner::search_space_test
