#include "ps/core/worker/rows/worker_fetches.h"

#include <gmock/gmock.h>

#include "ps/core/worker/rows/worker_pushes.h"
#include "tests/ps/core/worker/rows/row_parts.h"

namespace attune::ps::worker_fetches_test {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WorkerFetchesTest : public RowPartsTest {
 protected:
  // The rows are used by the next step.
  void Intend(std::vector<Key> keys, Duration age_max = seconds(1)) {
    fetches_.Intend(
        {.table = kTable, .keys = std::move(keys), .begin = at_.clock + 1, .end = at_.clock + 2, .age_max = age_max},
        at_, now_, out_);
  }
  void Answer(const std::pair<NodeId, Pull>& asked, float value) {
    PullReply reply = AnswerTo(asked.second, value);
    EXPECT_TRUE(pulls_.Take(asked.first, reply, out_).has_value());
    fetches_.TakeEnded(now_, out_);
  }
  void Fetched(Key key, float value) {
    Intend({key});
    Answer(SentOf<Pull>().at(0), value);
  }
  bool PullHere(Key key) {
    pulled_.assign(1, -1);
    return fetches_.PullHere(kTable, {&key, 1}, pulled_, at_, now_);
  }

  WorkerPushes pushes_{options_, cluster_, own_, routes_};
  WorkerPulls pulls_{options_, cluster_, own_, routes_, pushes_.window()};
  AnnouncedRows announced_{options_.intents_max};
  WorkerReplicas replicas_{options_, cluster_, own_, routes_, announced_, pushes_, pulls_};
  WorkerFetches fetches_{options_, own_, routes_, announced_, replicas_, pulls_, pushes_.window()};
  StepPoint at_;
  const Key first_ = KeyAt(kFirstServer), second_ = KeyAt(kSecondServer);
};

TEST_F(WorkerFetchesTest, WhatIsDueIsFetchedUnlessItIsHereOrNotToBeRead) {
  Own(first_);
  Intend({first_, second_});
  const auto asked = SentOf<Pull>();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_THAT(asked[0].second.keys.view(), ElementsAre(second_));
  Intend({second_});
  EXPECT_THAT(SentOf<Pull>(), IsEmpty()) << "it is coming";
  Intend({KeyAt(kSecondServer, 1)}, Duration::zero());
  EXPECT_THAT(SentOf<Pull>(), IsEmpty()) << "no age is allowed";
}

TEST_F(WorkerFetchesTest, AFetchIsNoCallOfTheProgram) {
  Fetched(first_, 5);
  EXPECT_THAT(Ended(), IsEmpty());
  EXPECT_TRUE(PullHere(first_));
  EXPECT_THAT(pulled_, ElementsAre(5));
  EXPECT_FALSE(PullHere(second_));
  EXPECT_EQ(fetches_.TakeAccesses().fetched, 1U);
  EXPECT_EQ(pulls_.TakeAccesses().remote, 0U);
}

TEST_F(WorkerFetchesTest, APullTakesWhatIsHereHoldsWhatIsComingAndLeavesTheRest) {
  Fetched(first_, 5);
  Intend({second_});
  const auto coming = SentOf<Pull>();
  const PullCall call = PullOf({first_, KeyAt(kFirstServer, 1), second_});
  pulls_.Begin(call);
  EXPECT_THAT(fetches_.Take(call, at_, now_, out_), ElementsAre(1));
  EXPECT_THAT(pulled_, ElementsAre(5, -1, -1));
  Answer(coming.at(0), 6);
  EXPECT_THAT(pulled_, ElementsAre(5, -1, 6));
  const RowAccesses accesses = fetches_.TakeAccesses();
  EXPECT_EQ(accesses.fetched, 1U);
  EXPECT_EQ(accesses.waited, 1U);
}

TEST_F(WorkerFetchesTest, APullThatWaitsForAFetchThatFailsAsksItself) {
  Intend({first_});
  const auto coming = SentOf<Pull>();
  const PullCall call = PullOf({first_});
  pulls_.Begin(call);
  EXPECT_THAT(fetches_.Take(call, at_, now_, out_), IsEmpty());
  now_ += options_.fetch_timeout;
  pulls_.EndOverdue(now_, out_);
  EXPECT_EQ(out_.completions.size(), 2U) << "of the call and of the fetch";
  fetches_.TakeEnded(now_, out_);
  EXPECT_EQ(Ended().size(), 1U);
  EXPECT_THAT(SentOf<Pull>(), IsEmpty()) << "the call has ended as well";
  EXPECT_TRUE(fetches_.empty());
}

TEST_F(WorkerFetchesTest, WhatIsReadOtherwisePushedToOrDroppedIsNotReadFromHere) {
  Fetched(first_, 5);
  fetches_.ReadOtherwise(kTable, {&first_, 1});
  EXPECT_FALSE(PullHere(first_));
  Fetched(second_, 5);
  fetches_.PushedTo(kTable, {&second_, 1}, at_);
  EXPECT_FALSE(PullHere(second_));
  fetches_.StepBegan(at_, now_, out_);
  EXPECT_EQ(SentOf<Pull>().size(), 1U) << "the next step uses it";
  const Key third = KeyAt(kFirstServer, 1);
  Fetched(third, 5);
  fetches_.DropAll();
  EXPECT_FALSE(PullHere(third));
}

TEST_F(WorkerFetchesTest, RowsThatAreOwnedMeanwhileAreReadAsTheyAre) {
  Fetched(first_, 5);
  Own(first_);
  EXPECT_TRUE(PullHere(first_));
  EXPECT_THAT(pulled_, ElementsAre(0));
  EXPECT_EQ(fetches_.TakeAccesses().owned, 1U);
  EXPECT_TRUE(fetches_.empty());
}

}  // namespace
}  // namespace attune::ps::worker_fetches_test
