#include "operator/tuner/knob.h"

#include <gtest/gtest.h>

#include <set>

namespace attune::tuner {
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

}  // namespace
}  // namespace attune::tuner
