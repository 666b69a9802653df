#include "cli/display/local_time.h"

#include <ctime>

namespace attune::cli {
namespace {

std::string LocalTime(double unix_seconds, const char* format) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[48];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace

std::string ClockText(double unix_seconds) { return LocalTime(unix_seconds, "%H:%M:%S"); }
std::string DateText(double unix_seconds) { return LocalTime(unix_seconds, "%Y-%m-%d %H:%M:%S %Z"); }

}  // namespace attune::cli
