// A list that lacks a member, or has members in another order, is noticed where it is used: at compile time.
#include "ps/core/protocol/field_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ps/core/protocol/ids.h"

namespace attune::ps {
namespace {

struct Inner {
  uint32_t number = 0;
};
struct Whole {
  uint64_t number = 0;
  std::string text;
  std::optional<uint64_t> maybe;
  std::vector<Inner> list;
  Inner inner;
  std::optional<Inner> maybe_inner{};
  std::variant<Inner, int> either{};
};
struct LacksNumber {
  uint64_t number = 0;
  uint64_t other = 0;
};
struct LacksOptional {
  uint64_t number = 0;
  std::optional<uint64_t> other;
};
struct LacksText {
  uint64_t number = 0;
  std::string other;
};
struct LacksList {
  uint64_t number = 0;
  std::vector<Inner> other;
};
struct LacksStruct {
  uint64_t number = 0;
  Inner other;
};
struct LacksFirst {
  std::string other;
  uint64_t number = 0;
};
struct OtherOrder {
  uint64_t number = 0;
  std::string text;
};
struct Empty {};
enum class Color : uint8_t { kRed, kBlue };

}  // namespace

template <>
struct EnumNumbers<Color> {
  static constexpr uint32_t kFirst = 1;
  static constexpr Color kLast = Color::kBlue;
};

ATTUNE_FIELDS(Inner, FIELD(number));
ATTUNE_FIELDS(Whole, FIELD(number, Is::kCount), FIELD_AS("words", text, AtMost(4)), FIELD(maybe), Columns(&T::list, 4),
              Inlined(&T::inner), FIELD(maybe_inner), OneOf("either", &T::either, {"a", "b"}));
ATTUNE_FIELDS(LacksNumber, FIELD(number));
ATTUNE_FIELDS(LacksOptional, FIELD(number));
ATTUNE_FIELDS(LacksText, FIELD(number));
ATTUNE_FIELDS(LacksList, FIELD(number));
ATTUNE_FIELDS(LacksStruct, FIELD(number));
ATTUNE_FIELDS(LacksFirst, FIELD(number));
ATTUNE_FIELDS(OtherOrder, FIELD(text, AtMost(4)), FIELD(number));
ATTUNE_FIELDS(Empty);

namespace {

TEST(FieldList, AMemberThatIsInNoListIsNoticed) {
  EXPECT_TRUE(ListsEveryMember<Whole>());
  EXPECT_TRUE(ListsEveryMember<Empty>());
  EXPECT_FALSE(ListsEveryMember<LacksNumber>());
  EXPECT_FALSE(ListsEveryMember<LacksOptional>());
  EXPECT_FALSE(ListsEveryMember<LacksText>());
  EXPECT_FALSE(ListsEveryMember<LacksList>());
  EXPECT_FALSE(ListsEveryMember<LacksStruct>());
  EXPECT_FALSE(ListsEveryMember<LacksFirst>());
  EXPECT_FALSE(ListsEveryMember<OtherOrder>());
}

TEST(FieldList, EntriesHaveTheNamesOfTheirMembersOrTheirOwn) {
  VisitFields<Whole>([](const auto& number, const auto& text, const auto& maybe, const auto&...) {
    EXPECT_STREQ(number.name, "number");
    EXPECT_EQ(number.rule.is, Is::kCount);
    EXPECT_STREQ(text.name, "words");
    EXPECT_EQ(text.rule.most, 4u);
    EXPECT_STREQ(maybe.name, "maybe");
    EXPECT_EQ(maybe.rule.is, Is::kAnything);
  });
}

TEST(FieldList, WholeNumbers) {
  EXPECT_EQ(ToNumber(true), 1u);
  EXPECT_EQ(ToNumber(NodeId(7)), 7u);
  EXPECT_EQ(ToNumber(MapVersion(1, 2)), (uint64_t{1} << 32) + 2);
  EXPECT_EQ(ToNumber(Duration(-1)), ~uint64_t{0});
  EXPECT_EQ(ToNumber(Color::kBlue), 2u);
  static_assert(!WholeNumber<std::string> && !WholeNumber<double> && !WholeNumber<Inner>);
}

}  // namespace
}  // namespace attune::ps
