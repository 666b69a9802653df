#include "operator/policy/calendar.h"

#include <algorithm>
#include <initializer_list>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"

namespace attune::policy {
namespace {

// Monday is 0, as in Schedule::days.
size_t DayOfWeek(absl::CivilDay day) { return static_cast<size_t>(absl::GetWeekday(day)); }

bool HoldsAt(const api::Schedule& schedule, absl::CivilSecond local) {
  const absl::CivilDay today(local);
  const int minute = local.hour() * 60 + local.minute();
  const bool begins_today = schedule.days.at(DayOfWeek(today));
  if (schedule.end > schedule.begin) return begins_today && minute >= schedule.begin && minute < schedule.end;
  const bool began_yesterday = schedule.days.at(DayOfWeek(today - 1));
  return (begins_today && minute >= schedule.begin) || (began_yesterday && minute < schedule.end);
}

absl::Time ToAbsl(WallTime time) { return absl::FromChrono(std::chrono::time_point_cast<Duration>(time)); }

}  // namespace

bool IsKnownZone(const std::string& zone) {
  absl::TimeZone found;
  return absl::LoadTimeZone(zone, &found);
}

bool Holds(const api::Schedule& schedule, WallTime now) {
  absl::TimeZone zone;
  if (!absl::LoadTimeZone(schedule.zone, &zone)) return true;
  return HoldsAt(schedule, absl::ToCivilSecond(ToAbsl(now), zone));
}

std::optional<WallTime> NextChange(const api::Schedule& schedule, WallTime now) {
  constexpr int kDaysAhead = 9;
  absl::TimeZone zone;
  if (!absl::LoadTimeZone(schedule.zone, &zone)) return std::nullopt;
  const bool holds = Holds(schedule, now);
  const absl::Time from = ToAbsl(now);
  const absl::CivilDay today = absl::ToCivilDay(from, zone);
  std::optional<absl::Time> next;
  for (int day = 0; day <= kDaysAhead; ++day) {
    for (const int minute : {schedule.begin, schedule.end}) {
      // Where clocks are changed one of these is the moment: before the change, at it, or after it.
      const absl::TimeZone::TimeInfo at = zone.At(absl::CivilMinute(today + day) + minute);
      for (const absl::Time time : {at.pre, at.trans, at.post}) {
        if (time <= from || (next && *next <= time)) continue;
        if (HoldsAt(schedule, absl::ToCivilSecond(time, zone)) != holds) next = time;
      }
    }
  }
  if (!next) return std::nullopt;
  return std::chrono::time_point_cast<WallTime::duration>(absl::ToChronoTime(*next));
}

std::string TextIn(const std::string& zone, WallTime time) {
  absl::TimeZone found;
  const bool known = absl::LoadTimeZone(zone, &found);
  return absl::FormatTime("%a %Y-%m-%d %H:%M ", ToAbsl(time), known ? found : absl::UTCTimeZone()) +
         (known ? zone : "UTC");
}

}  // namespace attune::policy
