#include "operator/tuner/choice/adoption.h"

#include <gtest/gtest.h>

#include "tests/operator/tuner/belief/measured_job.h"

namespace attune::tuner::adoption_test {
namespace {

// Two settings, measured equally long.
struct Two : MeasuredJob {
  Two(double here, double there, int windows = 8) {
    Measure({1, 1}, here, windows);
    Measure({2, 4}, there, windows);
  }
};

TEST(AdoptionTest, WhatIsClearlyBetterIsAdopted) {
  Two job(10, 30);
  const Proposal move = Adopt(job.evidence, job.LookFrom({1, 1}), {});
  EXPECT_EQ(move.setting, job.Id({2, 4}));
  EXPECT_NEAR(move.gain.mean, std::log(3), 0.1);
  EXPECT_GT(move.cost, 0);
}

TEST(AdoptionTest, WhatIsTheSameIsNot) {
  Two job(10, 10.05);
  EXPECT_EQ(Adopt(job.evidence, job.LookFrom({1, 1}), {}).setting, job.Id({1, 1}));
}

TEST(AdoptionTest, AChangeThatDoesNotPayAnyMoreIsNotMade) {
  Two job(10, 11.5);
  job.evidence.SetEnding(job.time, {.steps = 5});
  EXPECT_EQ(Adopt(job.evidence, job.LookFrom({1, 1}), {}).setting, job.Id({1, 1}));
}

TEST(AdoptionTest, WhereItCrashedTheJobDoesNotStay) {
  Two job(10, 9.9);
  job.Crash({1, 1});
  EXPECT_NE(Adopt(job.evidence, job.LookFrom({1, 1}), {}).setting, job.Id({1, 1}));
}

TEST(AdoptionTest, TheWayBackToWhatWasKeptNeedsNoProof) {
  Two job(10.4, 10, 2);
  Stays kept;
  kept.Load({.last = job.Id({2, 4}), .kept = job.Id({1, 1})});
  EXPECT_EQ(Adopt(job.evidence, job.LookFrom({2, 4}), kept).setting, job.Id({1, 1}));
}

TEST(AdoptionTest, WhatIsNotCertainStaysOnTrial) {
  Two close(10, 10.2, 2), clear(10, 30);
  for (Two* job : {&close, &clear}) {
    Stays stays;
    stays.Load({.last = job->Id({2, 4}), .kept = job->Id({1, 1})});
    const View view = job->LookFrom({2, 4});
    EXPECT_EQ(StillUncertain(job->evidence, view, stays, job->Id({2, 4})).has_value(), job == &close);
    EXPECT_EQ(StillUncertain(job->evidence, view, stays, job->Id({1, 1})), std::nullopt) << "it is the one kept";
    EXPECT_EQ(StillUncertain(job->evidence, view, {}, job->Id({2, 4})), std::nullopt) << "none is kept";
  }
}

}  // namespace
}  // namespace attune::tuner::adoption_test
