#include "operator/controller/tuning/state/job_course.h"

#include <gtest/gtest.h>

namespace attune::controller::job_course_test {
namespace {

const JobSetting kSmall{.servers = 1, .workers = 2}, kLarge{.servers = 2, .workers = 4}, kOther{.servers = 3};

// A job that has begun at the small setting, after one failure.
struct Begun {
  Begun() {
    now.wanted = kSmall;
    now.generation = 7;
    now.failures = 1;
    now.time = 100;
    course.Begin(now);
  }
  TuningInput now;
  JobCourse course;
};

TEST(JobCourseTest, ItBeginsWhereTheSpecIsAndWithNothingAgainstIt) {
  Begun job;
  EXPECT_EQ(job.course.here(), kSmall);
  EXPECT_EQ(job.course.running(), kSmall);
  EXPECT_FALSE(job.course.is_moving());
  EXPECT_FALSE(job.course.is_trial());
  EXPECT_FALSE(job.course.HasFailed(job.now));
}

TEST(JobCourseTest, WhileItMovesItRunsWhereItWas) {
  Begun job;
  job.course.Order(job.now, kLarge, true);
  EXPECT_TRUE(job.course.is_moving() && job.course.is_trial());
  EXPECT_EQ(job.course.here(), kLarge);
  EXPECT_EQ(job.course.running(), kSmall);
  EXPECT_TRUE(job.course.IsUnwritten(job.now));
  ++job.now.generation;
  EXPECT_FALSE(job.course.IsUnwritten(job.now));
  job.now.time = 130;
  EXPECT_DOUBLE_EQ(job.course.Waited(job.now), 30);
  job.course.Arrive(job.now);
  EXPECT_EQ(job.course.running(), kLarge);
  EXPECT_TRUE(job.course.is_trial()) << "a trial is one until something else is decided";
  EXPECT_EQ(job.course.kept().changes, 1U);
}

TEST(JobCourseTest, ASettingThatIsGivenUpLeadsBackAndNoFurther) {
  Begun job;
  job.course.Order(job.now, kLarge, true);
  ++job.now.failures;
  EXPECT_TRUE(job.course.HasFailed(job.now));
  job.course.GoBack(job.now);
  EXPECT_EQ(job.course.here(), kSmall);
  EXPECT_EQ(job.course.running(), kSmall) << "it never was at the large one";
  EXPECT_FALSE(job.course.HasWayBack());
  EXPECT_FALSE(job.course.HasFailed(job.now)) << "what failed there is not held against the way back";
  EXPECT_FALSE(job.course.is_trial());
  EXPECT_EQ(job.course.kept().changes, 2U);
}

TEST(JobCourseTest, AUserIsFollowed) {
  Begun staying, moving;
  staying.now.wanted = kLarge;
  staying.course.Follow(staying.now);
  EXPECT_EQ(staying.course.here(), kLarge);
  EXPECT_FALSE(staying.course.HasWayBack()) << "what a user chose is not taken back";
  EXPECT_EQ(staying.course.running(), kSmall);
  EXPECT_EQ(staying.course.kept().changes, 0U) << "the tuner changed nothing";

  moving.course.Order(moving.now, kLarge, true);
  moving.now.wanted = kOther;
  moving.course.Follow(moving.now);
  EXPECT_EQ(moving.course.here(), kOther);
  EXPECT_EQ(moving.course.from(), kSmall);
  EXPECT_EQ(moving.course.running(), kSmall);
  EXPECT_FALSE(moving.course.is_trial());
}

TEST(JobCourseTest, CountersThatFallAreNoFailures) {
  Begun job;
  job.now.failures = 3;
  EXPECT_TRUE(job.course.HasFailed(job.now));
  job.course.CountFailures(job.now);
  EXPECT_FALSE(job.course.HasFailed(job.now));
  job.now.failures = 2;
  job.course.CountFailures(job.now);
  EXPECT_EQ(job.course.kept().failures, 3);
}

TEST(JobCourseTest, AnotherOperatorContinuesOnTheWay) {
  Begun job;
  job.course.Order(job.now, kLarge, true);
  JobCourse next;
  next.Load(job.course.kept());
  EXPECT_TRUE(next.is_moving() && next.is_trial());
  EXPECT_EQ(next.here(), kLarge);
  EXPECT_EQ(next.running(), kSmall) << "where it left from";
  EXPECT_TRUE(next.IsUnwritten(job.now));
}

}  // namespace
}  // namespace attune::controller::job_course_test
