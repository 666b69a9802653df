#include "ps/core/progress/evaluation_schedule.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace attune::ps::evaluation_schedule_test {
namespace {

struct Look {
  uint64_t epochs, steps;
  bool done;  // the evaluation before is over
  bool due;
};
struct Case {
  const char* name;
  std::optional<uint64_t> every_epochs, every_steps;
  std::vector<Look> looks;
};

TEST(EvaluationSchedule, IsDueOncePerMultipleAndNotWhileOneIsUnderWay) {
  const std::vector<Case> cases = {
      {"never, when nothing says how often", {}, {}, {{1, 100, true, false}, {9, 900, true, false}}},
      {"every second epoch", 2, {}, {{1, 5, true, false}, {2, 9, true, true}, {3, 9, true, false}, {4, 9, true, true}}},
      {"every hundred steps, seen late",
       {},
       100,
       {{0, 99, true, false}, {0, 140, true, true}, {0, 180, true, false}, {0, 205, true, true}}},
      {"whichever comes first", 1, 100, {{0, 100, true, true}, {1, 120, true, true}, {1, 199, true, false}}},
      {"one that takes long leaves out what it missed",
       1,
       {},
       {{1, 0, true, true}, {2, 0, false, false}, {4, 0, false, false}, {4, 0, true, true}, {4, 0, true, false}}},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    EvaluationSchedule schedule(each.every_epochs, each.every_steps);
    uint64_t due = 0;
    for (const Look& look : each.looks) {
      EXPECT_EQ(schedule.Advance(look.epochs, look.steps, look.done), look.due) << look.epochs << ", " << look.steps;
      due += look.due ? 1 : 0;
      EvaluationSchedule next(each.every_epochs, each.every_steps);  // of another coordinator
      next.Restore(schedule.state());
      schedule = next;
    }
    EXPECT_EQ(schedule.state().due, due);
  }
}

TEST(EvaluationSchedule, AResumedJobIsNotEvaluatedAgainWhereItStands) {
  EvaluationSchedule schedule(1, std::nullopt);
  schedule.Resume(3, 5, 700);
  EXPECT_FALSE(schedule.Advance(5, 700, true));
  EXPECT_TRUE(schedule.Advance(6, 800, true));
  EXPECT_EQ(schedule.state().due, 4U);
}

}  // namespace
}  // namespace attune::ps::evaluation_schedule_test
