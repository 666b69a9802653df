#include "ps/sampling/local_draws.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "tests/base/seeds.h"

namespace attune::ps {
namespace {

// Of a thousand keys, equally likely, the first so many are at hand.
class Thousand {
 public:
  Thousand(uint64_t at_hand, uint64_t seed) : at_hand_(at_hand), random_(seed) {}
  LocalDraws::Drawn Next() {
    return draws_.Next([&] { return random_.Below(1000); }, [&](Key key) { return key < at_hand_; });
  }
  void SetAtHand(uint64_t keys) { at_hand_ = keys; }
  const LocalDraws& draws() const { return draws_; }

 private:
  uint64_t at_hand_;
  Random random_;
  LocalDraws draws_;
};

TEST(LocalDrawsTest, WhereMostIsAtHandNothingElseIsDrawnAndTheDistanceIsWhatIsNot) {
  ForSeeds(10, [](uint64_t seed) {
    Thousand rows(800, seed);
    int elsewhere = 0;
    double sum = 0;
    constexpr int kDraws = 20'000;
    for (int i = 0; i < kDraws; ++i) {
      const auto drawn = rows.Next();
      EXPECT_EQ(drawn.at_hand, drawn.key < 800);
      elsewhere += drawn.at_hand ? 0 : 1;
      sum += drawn.at_hand ? static_cast<double>(drawn.key) : 0;
    }
    EXPECT_LT(elsewhere, 100) << "only before the share was known";
    EXPECT_NEAR(sum / (kDraws - elsewhere), 399.5, 20) << "those at hand are equally likely";
    EXPECT_NEAR(rows.draws().share(), 0.8, 0.1);
    EXPECT_GE(rows.draws().restricted(), uint64_t{kDraws - 100});
    EXPECT_NEAR(rows.draws().distance() / kDraws, 0.2, 0.03);
  });
}

TEST(LocalDrawsTest, WhereLittleIsAtHandEveryCandidateIsTaken) {
  ForSeeds(10, [](uint64_t seed) {
    Thousand rows(300, seed);
    int here = 0;
    constexpr int kDraws = 10'000;
    for (int i = 0; i < kDraws; ++i) here += rows.Next().at_hand ? 1 : 0;
    EXPECT_EQ(rows.draws().restricted(), 0U);
    EXPECT_EQ(rows.draws().distance(), 0);
    EXPECT_NEAR(here, 3000, 400);
    EXPECT_NEAR(rows.draws().share(), 0.3, 0.1);
  });
}

TEST(LocalDrawsTest, RowsThatComeOrGoAreNoticed) {
  Thousand rows(0, 1);
  for (int i = 0; i < 3000; ++i) rows.Next();
  EXPECT_EQ(rows.draws().share(), 0);
  rows.SetAtHand(900);
  for (int i = 0; i < 10'000; ++i) rows.Next();
  const uint64_t restricted = rows.draws().restricted();
  EXPECT_GT(restricted, 5000U);
  rows.SetAtHand(0);
  for (int i = 0; i < 1000; ++i) rows.Next();
  EXPECT_LT(rows.draws().restricted(), restricted + 100) << "nothing is left to restrict to";
  EXPECT_LT(rows.draws().share(), LocalDraws::kRestrictsAbove);
}

}  // namespace
}  // namespace attune::ps
