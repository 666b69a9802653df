// Points in time as people read them, in the zone of this machine. Times for programs: TimeText (cli/runs/jobs.h).
#pragma once

#include <string>

namespace attune::cli {

std::string ClockText(double unix_seconds);  // "12:00:05", local time
std::string DateText(double unix_seconds);   // "2027-01-15 08:00:00 UTC", in this machine's zone

}  // namespace attune::cli
