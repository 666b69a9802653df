#include "operator/tuner/models/staleness_model.h"

#include <gtest/gtest.h>

namespace attune::tuner::staleness_model_test {
namespace {

TEST(StalenessModelTest, BeforeAnythingIsMeasuredEachOtherWorkerCounts) {
  const StalenessModel model(SyncMode::Async());
  EXPECT_DOUBLE_EQ(model.Expected(0, 1), 0);
  EXPECT_DOUBLE_EQ(model.Expected(3, 5), 4);
}

TEST(StalenessModelTest, WhereTheJobRanItIsWhatWasMeasuredSmoothed) {
  StalenessModel model(SyncMode::Async());
  model.Absorb(3, 5, 10);
  EXPECT_DOUBLE_EQ(model.Expected(3, 5), 10);
  model.Absorb(3, 5, 20);
  EXPECT_DOUBLE_EQ(model.Expected(3, 5), 13);
  model.Absorb(3, 5, {});
  EXPECT_DOUBLE_EQ(model.Expected(3, 5), 13) << "nothing was measured";
}

TEST(StalenessModelTest, ElsewhereItRisesAsMeasured) {
  StalenessModel model(SyncMode::Async());
  for (int i = 0; i < 50; ++i) model.Absorb(3, 5, 8);  // two updates for each other worker
  EXPECT_NEAR(model.Expected(4, 9), 16, 0.1);
}

TEST(StalenessModelTest, AWindowCountsAsItWasMeasured) {
  StalenessModel model(SyncMode::Async());
  EXPECT_DOUBLE_EQ(model.Of(3, 5, 7), 7);
  EXPECT_DOUBLE_EQ(model.Of(3, 5, {}), 4);
}

TEST(StalenessModelTest, UnderBspItIsTheNumberOfOtherWorkers) {
  StalenessModel model(SyncMode::Bsp());
  model.Absorb(3, 5, 10);
  EXPECT_DOUBLE_EQ(model.Expected(3, 5), 4);
  EXPECT_DOUBLE_EQ(model.Of(3, 5, 10), 4);
}

TEST(StalenessModelTest, TheNumberOfSettingsIsBounded) {
  StalenessModel model(SyncMode::Async());
  for (int setting = 0; setting < 1000; ++setting) model.Absorb(setting, 2, 1);
  EXPECT_EQ(model.Save().settings.size(), StalenessModel::kSettingsMax);
}

TEST(StalenessModelTest, ALoadedOneExpectsTheSame) {
  StalenessModel model(SyncMode::Async()), loaded(SyncMode::Async());
  model.Absorb(3, 5, 10);
  loaded.Load(model.Save());
  EXPECT_DOUBLE_EQ(loaded.Expected(3, 5), 10);
  EXPECT_DOUBLE_EQ(loaded.Expected(4, 9), model.Expected(4, 9));
}

}  // namespace
}  // namespace attune::tuner::staleness_model_test
