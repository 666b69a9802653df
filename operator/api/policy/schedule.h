// "Mon-Fri 08:00-20:00 Europe/Berlin": hours of the week by the clocks of a place. Pure text; which moments these are
// is a question to a time zone (operator/policy/calendar.h).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace attune::api {

inline constexpr int kMinutesPerDay = 24 * 60;

struct Schedule {
  std::array<bool, 7> days{};  // on which it begins; Monday first
  int begin = 0, end = 0;      // minutes of the day; an end at or before the beginning is on the next day
  std::string zone;            // of the IANA database
};

// Nothing for a text of another form, for a time that does not exist, and for hours that begin as they end (a whole day
// is 00:00-24:00); `why` says which.
std::optional<Schedule> ParseSchedule(std::string_view text, std::string* why = nullptr);

// What the API server can check of it.
inline constexpr char kSchedulePattern[] =
    "^(\\*|(Mon|Tue|Wed|Thu|Fri|Sat|Sun)([-,](Mon|Tue|Wed|Thu|Fri|Sat|Sun))*) "
    "([01][0-9]|2[0-3]):[0-5][0-9]-(([01][0-9]|2[0-3]):[0-5][0-9]|24:00) [A-Za-z][A-Za-z0-9_+/-]*$";
inline constexpr char kScheduleWords[] =
    "days, hours and a time zone, such as \"Mon-Fri 08:00-20:00 Europe/Berlin\" or \"* 22:00-06:00 UTC\"";

}  // namespace attune::api
