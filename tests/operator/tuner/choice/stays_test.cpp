#include "operator/tuner/choice/stays.h"

#include <gtest/gtest.h>

namespace attune::tuner::stays_test {
namespace {

TEST(StaysTest, WindowsCountWhereTheJobIs) {
  Stays stays;
  stays.Move(3, DecisionKind::kTrial);
  stays.Absorb(3, 2);
  stays.Absorb(5, 7);
  EXPECT_DOUBLE_EQ(stays.windows_here(), 2);
  stays.Move(3, DecisionKind::kKeep);
  EXPECT_DOUBLE_EQ(stays.windows_here(), 2) << "it stays";
  stays.Move(5, DecisionKind::kTrial);
  EXPECT_DOUBLE_EQ(stays.windows_here(), 0);
}

TEST(StaysTest, TrialsAreNotKept) {
  Stays stays;
  EXPECT_EQ(stays.kept(), -1);
  stays.Move(3, DecisionKind::kKeep);
  stays.Move(5, DecisionKind::kTrial);
  EXPECT_EQ(stays.kept(), 3);
  EXPECT_EQ(stays.previous_kept(), -1);
  stays.Move(5, DecisionKind::kKeep);
  stays.Move(5, DecisionKind::kKeep);
  EXPECT_EQ(stays.kept(), 5);
  EXPECT_EQ(stays.previous_kept(), 3);
}

TEST(StaysTest, ALoadedOneContinues) {
  Stays stays, loaded;
  stays.Move(3, DecisionKind::kKeep);
  stays.Move(5, DecisionKind::kKeep);
  stays.Absorb(5, 2);
  loaded.Load(stays.Save());
  loaded.Absorb(5, 1);
  EXPECT_DOUBLE_EQ(loaded.windows_here(), 3);
  EXPECT_EQ(loaded.previous_kept(), 3);
}

}  // namespace
}  // namespace attune::tuner::stays_test
