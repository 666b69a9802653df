// Windows by the clocks of a place: days, midnight, and the two nights a year on which clocks are changed.
#include "operator/policy/calendar.h"

#include <gtest/gtest.h>

#include "absl/time/time.h"

namespace attune::policy::calendar_test {
namespace {

WallTime Utc(const std::string& text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &error)) << error;
  return std::chrono::time_point_cast<WallTime::duration>(absl::ToChronoTime(time));
}

bool HoldsAt(const std::string& schedule, const std::string& time) {
  return Holds(*api::ParseSchedule(schedule), Utc(time));
}

constexpr char kWorkday[] = "Mon-Fri 08:00-20:00 Europe/Berlin";

TEST(Calendar, WorkingHoursAreThoseOfThePlaceInSummerAndWinter) {
  EXPECT_FALSE(HoldsAt(kWorkday, "2026-07-15T05:59:59Z"));  // Wednesday, 07:59:59 there
  EXPECT_TRUE(HoldsAt(kWorkday, "2026-07-15T06:00:00Z"));
  EXPECT_TRUE(HoldsAt(kWorkday, "2026-07-15T17:59:59Z"));
  EXPECT_FALSE(HoldsAt(kWorkday, "2026-07-15T18:00:00Z"));
  EXPECT_FALSE(HoldsAt(kWorkday, "2026-01-14T06:30:00Z"));  // 07:30 there
  EXPECT_TRUE(HoldsAt(kWorkday, "2026-01-14T07:00:00Z"));
  EXPECT_FALSE(HoldsAt(kWorkday, "2026-07-18T10:00:00Z"));  // Saturday
}

TEST(Calendar, AWindowThatPassesMidnightBelongsToTheDayItBeginsOn) {
  const char* night = "Fri 22:00-06:00 UTC";
  EXPECT_FALSE(HoldsAt(night, "2026-07-17T05:00:00Z"));  // Friday morning
  EXPECT_TRUE(HoldsAt(night, "2026-07-17T22:00:00Z"));
  EXPECT_TRUE(HoldsAt(night, "2026-07-18T05:59:00Z"));
  EXPECT_FALSE(HoldsAt(night, "2026-07-18T06:00:00Z"));
  EXPECT_FALSE(HoldsAt(night, "2026-07-18T23:00:00Z"));
}

TEST(Calendar, AnHourThatClocksLeaveOutDoesNotHold) {
  const char* early = "Sun 02:10-02:50 Europe/Berlin";  // 2026-03-29: from 02:00 to 03:00 at once
  EXPECT_FALSE(HoldsAt(early, "2026-03-29T00:59:59Z"));
  EXPECT_FALSE(HoldsAt(early, "2026-03-29T01:00:00Z"));
  EXPECT_FALSE(HoldsAt(early, "2026-03-29T01:30:00Z"));
  EXPECT_TRUE(HoldsAt(early, "2026-04-05T00:30:00Z"));  // a week later
}

TEST(Calendar, AnHourThatClocksShowTwiceHoldsTwice) {
  const char* early = "Sun 02:10-02:50 Europe/Berlin";  // 2026-10-25: 03:00 is followed by 02:00
  EXPECT_TRUE(HoldsAt(early, "2026-10-25T00:30:00Z"));
  EXPECT_FALSE(HoldsAt(early, "2026-10-25T00:55:00Z"));
  EXPECT_TRUE(HoldsAt(early, "2026-10-25T01:30:00Z"));
}

TEST(Calendar, TheNextChangeIsFoundAcrossClockChanges) {
  EXPECT_EQ(NextChange(*api::ParseSchedule(kWorkday), Utc("2026-03-28T12:00:00Z")), Utc("2026-03-30T06:00:00Z"));
  EXPECT_EQ(NextChange(*api::ParseSchedule(kWorkday), Utc("2026-10-24T12:00:00Z")), Utc("2026-10-26T07:00:00Z"));
  EXPECT_EQ(NextChange(*api::ParseSchedule(kWorkday), Utc("2026-10-26T07:00:00Z")), Utc("2026-10-26T19:00:00Z"));
  EXPECT_FALSE(NextChange(*api::ParseSchedule("* 00:00-24:00 UTC"), Utc("2026-10-26T07:00:00Z")));
}

// By brute force: minute by minute over a fortnight around each change of clocks.
TEST(Calendar, TheNextChangeIsTheFirstMinuteThatDiffers) {
  for (const char* text : {kWorkday, "Sat-Mon 22:30-02:30 Europe/Berlin", "Sun 01:15-03:45 America/New_York"}) {
    for (const char* begin : {"2026-03-07T00:00:00Z", "2026-03-27T00:00:00Z", "2026-10-23T00:00:00Z"}) {
      const api::Schedule schedule = *api::ParseSchedule(text);
      const WallTime from = Utc(begin);
      WallTime time = from;
      while (Holds(schedule, time) == Holds(schedule, from)) time += std::chrono::minutes(1);
      EXPECT_EQ(NextChange(schedule, from), time) << text << " from " << begin;
    }
  }
}

TEST(Calendar, TimesAreShownByTheClocksOfThePlace) {
  EXPECT_EQ(TextIn("Europe/Berlin", Utc("2026-07-15T18:00:00Z")), "Wed 2026-07-15 20:00 Europe/Berlin");
  EXPECT_EQ(TextIn("Europe/Berlin", Utc("2026-01-14T18:00:00Z")), "Wed 2026-01-14 19:00 Europe/Berlin");
  EXPECT_EQ(TextIn("Europe/Nowhere", Utc("2026-01-14T18:00:00Z")), "Wed 2026-01-14 18:00 UTC");
}

TEST(Calendar, AnUnknownZoneHoldsAlways) {
  EXPECT_FALSE(IsKnownZone("Europe/Nowhere"));
  EXPECT_TRUE(HoldsAt("Mon 08:00-09:00 Europe/Nowhere", "2026-07-18T10:00:00Z"));
}

}  // namespace
}  // namespace attune::policy::calendar_test
