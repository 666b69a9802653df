#include "operator/tuner/space/knob.h"

#include <gtest/gtest.h>

#include <set>

namespace attune::tuner::knob_test {
namespace {

TEST(KnobTest, EveryRecordIsCompleteAndNamedOnce) {
  std::set<std::string_view> names;
  for (const KnobRecord& knob : Knobs()) {
    EXPECT_TRUE(names.insert(knob.name).second) << knob.name;
    EXPECT_FALSE(knob.unit.empty()) << knob.name;
    EXPECT_TRUE(knob.effect.ends_with('.')) << knob.name;
    EXPECT_LE(knob.low, knob.initial) << knob.name;
    EXPECT_LE(knob.initial, knob.high) << knob.name;
    EXPECT_EQ(FindKnob(knob.name), &knob);
    EXPECT_EQ(ParseCostClass(Name(knob.cost)), knob.cost);
  }
  EXPECT_EQ(FindKnob("chiefs"), nullptr);
  EXPECT_FALSE(ParseCostClass("free").has_value());
}

TEST(KnobTest, ValuesAreWrittenAndReadAsPeopleSayThem) {
  const KnobRecord& slack = *FindKnob("slack");
  for (const auto& [value, text] :
       {std::pair{0, "bsp"}, {1, "ssp:1"}, {999'999, "ssp:999999"}, {kSlackAsync, "async"}}) {
    EXPECT_EQ(ValueText("slack", value), text);
    EXPECT_EQ(ParseValue(slack, text), value);
    EXPECT_EQ(ParseValue(slack, std::to_string(value)), value);
  }
  EXPECT_EQ(ValueText("workers", 0), "0");
  EXPECT_EQ(ParseValue(*FindKnob("threads"), "3"), 3);
  for (const char* wrong : {"", "x", "3x", "-1", "0", "257", "bsp", "99999999999"}) {
    EXPECT_FALSE(ParseValue(*FindKnob("threads"), wrong).has_value()) << wrong;
  }
  for (const char* wrong : {"", "ssp:", "ssp:x", "ssp:0", "bsp:1", "-1", "1000001"}) {
    EXPECT_FALSE(ParseValue(slack, wrong).has_value()) << wrong;
  }
}

TEST(KnobTest, LevelsRiseWithinTheRange) {
  for (const KnobRecord& knob : Knobs()) {
    for (size_t i = 0; i < knob.levels.size(); ++i) {
      EXPECT_GE(knob.levels[i], knob.low);
      EXPECT_LE(knob.levels[i], knob.high);
      if (i > 0) {
        EXPECT_LT(knob.levels[i - 1], knob.levels[i]);
      }
    }
  }
}

}  // namespace
}  // namespace attune::tuner::knob_test
