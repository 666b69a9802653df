#include "examples/next-character/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/scratch.h"

namespace attune::next_character::text_test {
namespace {

TEST(Symbols, StandForCharactersOneToOne) {
  std::set<Symbol> seen;
  for (const char character : std::string("\n\t abz~#{")) {
    const Symbol symbol = SymbolOf(character);
    EXPECT_LT(symbol, kSymbols);
    EXPECT_EQ(CharacterOf(symbol), character);
    EXPECT_TRUE(seen.insert(symbol).second);
  }
  EXPECT_EQ(SymbolOf('\r'), SymbolOf(static_cast<char>(0xC3)));
  EXPECT_EQ(CharacterOf(SymbolOf('\r')), '?');
}

TEST(Text, IsAllFilesInTheOrderOfTheirPaths) {
  const Scratch directory;
  directory.Write("b.h", std::string(kTextMin, 'b'));
  directory.Write("a.h", "a");
  const auto text = LoadText({directory.path()});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->symbols.size(), kTextMin + 1);
  EXPECT_EQ(text->symbols.front(), SymbolOf('a'));
}

TEST(Text, TooLittleIsSaidWithTheNumbers) {
  const Scratch directory;
  directory.Write("a.h", "short");
  EXPECT_THAT(std::string(Message(LoadText({directory.path()}).status())), testing::HasSubstr("5 characters"));
}

TEST(Positions, TrainingMeetsEveryCharacterOnceAndNoneHeldOut) {
  for (const uint64_t size : {kTextMin, kTextMin + 777, uint64_t{3 * 50 * 1024 - 10}}) {
    const std::vector<Symbol> text(size);
    const Positions positions(text, 24);
    std::set<uint64_t> seen;
    for (uint64_t n = 0; n < positions.training_count(); ++n) {
      const uint64_t position = positions.Training(n);
      ASSERT_GE(position, 24U);
      ASSERT_LT(position, size);
      ASSERT_FALSE(positions.IsHeldOut(position));
      ASSERT_TRUE(seen.insert(position).second);
    }
    uint64_t held_out = 0;
    for (uint64_t position = 24; position < size; ++position) held_out += positions.IsHeldOut(position);
    EXPECT_EQ(seen.size() + held_out, size - 24) << size;
    EXPECT_EQ(positions.Training(positions.training_count()), positions.Training(0));
  }
}

TEST(Positions, HeldOutOnesAreDistinctAndNotTrained) {
  const std::vector<Symbol> text(4 * 50 * 1024);
  const Positions positions(text, 24);
  const std::vector<uint64_t> some = positions.HeldOut(1000);
  EXPECT_EQ(std::set<uint64_t>(some.begin(), some.end()).size(), 1000U);
  for (const uint64_t position : some) EXPECT_TRUE(positions.IsHeldOut(position) && position < text.size());
  EXPECT_EQ(positions.HeldOut(1 << 20).size(), 4 * 1024U) << "not more than there are";
}

TEST(Positions, ItemsOfAllEpochsFollowOneAnother) {
  const std::vector<Symbol> text(kTextMin);
  const Positions positions(text, 8);
  std::vector<uint64_t> batch;
  positions.Batch(2, 3, 10, 4, batch);
  EXPECT_EQ(batch, (std::vector<uint64_t>{positions.Training(92), positions.Training(93), positions.Training(94),
                                          positions.Training(95)}));
}

}  // namespace
}  // namespace attune::next_character::text_test
