#include "operator/api/policy/schedule.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace attune::api {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<size_t> DayOf(std::string_view text) {
  const auto at = std::ranges::find(kDays, text);
  if (at == kDays.end()) return std::nullopt;
  return static_cast<size_t>(at - kDays.begin());
}

// "Mon-Fri,Sun", and "*" for every day; a range may pass the end of the week.
bool ReadDays(std::string_view text, std::array<bool, 7>& days) {
  if (text == "*") {
    days.fill(true);
    return true;
  }
  for (const std::string_view part : Split(text, ',')) {
    const std::vector<std::string_view> ends = Split(part, '-');
    const auto first = DayOf(ends.front()), last = DayOf(ends.back());
    if (ends.size() > 2 || !first || !last) return false;
    for (size_t day = *first;; day = (day + 1) % kDays.size()) {
      days.at(day) = true;
      if (day == *last) break;
    }
  }
  return true;
}

// "08:00" in minutes; 24:00 is the end of a day.
std::optional<int> MinutesOf(std::string_view text) {
  const auto digit = [&](size_t at) { return text[at] >= '0' && text[at] <= '9'; };
  if (text.size() != 5 || text[2] != ':' || !digit(0) || !digit(1) || !digit(3) || !digit(4)) return std::nullopt;
  const int hours = (text[0] - '0') * 10 + (text[1] - '0'), minutes = (text[3] - '0') * 10 + (text[4] - '0');
  if (minutes > 59 || hours * 60 + minutes > kMinutesPerDay) return std::nullopt;
  return hours * 60 + minutes;
}

bool IsZoneName(std::string_view text) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '+' || c == '-' || c == '/';
  };
  return !text.empty() && text.size() <= 64 && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
         std::ranges::all_of(text, fits);
}

std::optional<Schedule> No(std::string* why, std::string text) {
  if (why != nullptr) *why = std::move(text);
  return std::nullopt;
}

}  // namespace

std::optional<Schedule> ParseSchedule(std::string_view text, std::string* why) {
  const std::vector<std::string_view> parts = Split(text, ' ');
  if (parts.size() != 3) return No(why, kScheduleWords);
  Schedule schedule;
  if (!ReadDays(parts[0], schedule.days)) return No(why, "days out of Mon, Tue, Wed, Thu, Fri, Sat, Sun, or *");
  const std::vector<std::string_view> hours = Split(parts[1], '-');
  const auto begin = MinutesOf(hours.front()), end = MinutesOf(hours.back());
  if (hours.size() != 2 || !begin || !end || *begin == kMinutesPerDay) {
    return No(why, "hours from 00:00-00:01 to 00:00-24:00, such as 08:00-20:00");
  }
  if (*begin == *end) {
    return No(why, "an end that is not the beginning: these hours never match; a whole day is 00:00-24:00");
  }
  schedule.begin = *begin;
  schedule.end = *end;
  if (!IsZoneName(parts[2])) return No(why, "a time zone of the IANA database, such as Europe/Berlin or UTC");
  schedule.zone = parts[2];
  return schedule;
}

}  // namespace attune::api
