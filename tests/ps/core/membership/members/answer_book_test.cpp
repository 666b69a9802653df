#include "ps/core/membership/members/answer_book.h"

#include <gtest/gtest.h>

namespace attune::ps::answer_book_test {
namespace {

using Received = AnswerBook::Received;

RequestHeader Request(uint64_t request, uint64_t answered_below = 0) {
  return {.request = RequestId(request), .answered_below = RequestId(answered_below)};
}
Message AnswerTo(uint64_t request) { return Done{.request = RequestId(request)}; }

TEST(AnswerBook, ARequestIsHandledOnceHoweverOftenItIsSent) {
  AnswerBook book;
  EXPECT_EQ(book.Receive(Request(1)), Received::kNew);
  book.TakeUp(RequestId(1));
  EXPECT_EQ(book.Receive(Request(1)), Received::kNothingToDo) << "it is in progress";
  book.Answered(RequestId(1), AnswerTo(1));
  EXPECT_EQ(book.Receive(Request(1)), Received::kAnswered) << "the answer may have been lost";
  EXPECT_EQ(book.AnswerTo(RequestId(1)), AnswerTo(1));
}

TEST(AnswerBook, AnswersThatHaveArrivedAreForgotten) {
  AnswerBook book;
  for (const uint64_t request : {1, 2}) {
    (void)book.Receive(Request(request));
    book.TakeUp(RequestId(request));
    book.Answered(RequestId(request), AnswerTo(request));
  }
  EXPECT_EQ(book.Receive(Request(3, 1)), Received::kNew);
  EXPECT_EQ(book.Receive(Request(1)), Received::kNothingToDo) << "a late copy";
  EXPECT_EQ(book.Receive(Request(2)), Received::kAnswered);
}

TEST(AnswerBook, ItIsBounded) {
  AnswerBook book;
  for (uint64_t request = 1; request < kAnswersBehindAWait; ++request) {
    book.Answered(RequestId(request), AnswerTo(request));
  }
  EXPECT_FALSE(book.ManyBehindAWait());
  book.Answered(RequestId(kAnswersBehindAWait), AnswerTo(kAnswersBehindAWait));
  EXPECT_TRUE(book.ManyBehindAWait());
  EXPECT_FALSE(book.IsFull());
  for (uint64_t request = kAnswersBehindAWait + 1; request <= kRequestsInFlightMax; ++request) {
    book.TakeUp(RequestId(request));
  }
  EXPECT_TRUE(book.IsFull());
}

}  // namespace
}  // namespace attune::ps::answer_book_test
