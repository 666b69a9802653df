#include "sidecar/relay/open_directives.h"

#include <gtest/gtest.h>

namespace attune::sidecar::open_directives_test {
namespace {

v1::Directive DrainOf(uint64_t stream_id) {
  v1::Directive directive;
  directive.set_id(stream_id);
  directive.mutable_drain();
  return directive;
}

TEST(OpenDirectives, AnAnswerFindsTheDirectiveOfItsStream) {
  OpenDirectives open;
  const uint64_t down = open.PassOn(DrainOf(70)).directive().id();
  EXPECT_EQ(open.TakeAnswered(down), 70U);
  EXPECT_EQ(open.TakeAnswered(down), std::nullopt) << "answered once";
}

TEST(OpenDirectives, TheProcessNeverSeesAnIdTwiceThoughStreamsRepeatThem) {
  OpenDirectives open;
  const uint64_t before = open.PassOn(DrainOf(1)).directive().id();
  open.ForgetUnanswered();
  const uint64_t after = open.PassOn(DrainOf(1)).directive().id();
  EXPECT_NE(before, after);
  EXPECT_EQ(open.TakeAnswered(before), std::nullopt) << "of a stream that is gone";
  EXPECT_EQ(open.TakeAnswered(after), 1U);
}

TEST(OpenDirectives, WhatCameBeforeTheProcessIsGivenToItOnceAndAlsoAfterTheStream) {
  OpenDirectives open;
  open.Await(DrainOf(5));
  open.ForgetUnanswered();
  const auto given = open.TakeAwaiting();
  ASSERT_EQ(given.size(), 1U);
  EXPECT_TRUE(given[0].directive().has_drain());
  EXPECT_EQ(open.TakeAnswered(given[0].directive().id()), std::nullopt) << "answered when it was taken";
  EXPECT_TRUE(open.TakeAwaiting().empty());
}

TEST(OpenDirectives, ThoseThatAProcessLeavesUnansweredAreNamedOnce) {
  OpenDirectives open;
  open.PassOn(DrainOf(8));
  open.PassOn(DrainOf(9));
  EXPECT_EQ(open.TakeUnanswered(), (std::vector<uint64_t>{8, 9}));
  EXPECT_TRUE(open.TakeUnanswered().empty());
}

TEST(OpenDirectives, BothKindsCountAgainstTheBound) {
  OpenDirectives open;
  open.Await(DrainOf(0));
  for (uint64_t id = 1; id < OpenDirectives::kMax; ++id) {
    EXPECT_FALSE(open.IsFull());
    open.PassOn(DrainOf(id));
  }
  EXPECT_TRUE(open.IsFull());
  open.TakeAwaiting();
  EXPECT_FALSE(open.IsFull());
}

}  // namespace
}  // namespace attune::sidecar::open_directives_test
