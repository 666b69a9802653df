#include "cli/display/job/row_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "operator/api/format.h"

namespace attune::cli {
namespace {

std::string Tenths(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f%%", 100 * share);
  return text.data();
}

std::string Cores(double cores) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f cores", cores);
  return text.data();
}

}  // namespace

std::string PlacesText(const api::RowPlaces& places) {
  std::string here;
  const auto add = [](std::string& list, double share, const char* what) {
    if (share > 0) list += (list.empty() ? "" : ", ") + Tenths(share) + what;
  };
  add(here, places.replicated, " copies");
  add(here, places.owned, " owned");
  add(here, places.fetched, " fetched ahead");
  std::string text = Tenths(places.here()) + " of " + api::FormatCount(places.per_second) + "/s here";
  if (!here.empty()) text += " (" + here + ")";
  add(text, places.waited, " waited for");
  add(text, places.remote, " remote");
  if (places.late > 0) text += "; " + Tenths(places.late) + " announced late";
  return text;
}

std::string AnnouncementsText(const api::RowPlaces& places) {
  std::string text = places.ignored ? "ignored" : "acted on";
  if (places.on_trial) text = "acted on and ignored in turns, to see which is faster";
  if (!places.speedup) return places.on_trial || places.ignored ? text : "";
  std::array<char, 64> last{};
  std::snprintf(last.data(), last.size(), "%.2f times", *places.speedup);
  return text + "; by the last trial the job runs at " + last.data() + " its rate when they are acted on";
}

std::string CopiesText(const api::RowPlaces& places) {
  if (places.copies == 0) return "";
  return api::FormatCount(static_cast<double>(places.copies)) + ", oldest read " +
         std::to_string(std::lround(1000 * places.oldest_read_seconds)) + " ms; flushed " +
         api::FormatBytes(places.flushed_bytes_per_second) + "/s, refreshed " +
         api::FormatBytes(places.refreshed_bytes_per_second) + "/s";
}

std::string TablesText(const api::RowPlaces& places) {
  std::string text;
  for (const api::TableRows& table : places.tables) {
    text += table.name + ": " + api::FormatCount(static_cast<double>(table.rows)) + " rows, " +
            api::FormatBytes(table.row_bytes) + "; ";
    if (table.announced == 0) {
      text += "no worker asks for copies at present";
      if (table.copies > 0) text += ", " + api::FormatCount(static_cast<double>(table.copies)) + " are left";
      text += "\n";
      continue;
    }
    const uint64_t copied = std::min(table.copies, table.announced);
    text += api::FormatCount(static_cast<double>(table.announced)) +
            " announced for several steps, each counted once for every worker\n";
    text += "  copied to the workers: " + api::FormatCount(static_cast<double>(copied)) +
            "; left at their homes: " + api::FormatCount(static_cast<double>(table.announced - copied)) + "\n";
    text += "  processor time of workers and servers: " + Cores(table.decided_cores) + " as decided, " +
            Cores(table.left_cores) + " with all left, " + Cores(table.copied_cores) + " with all copied\n";
  }
  return text;
}

std::string RowTraceText(const api::RowTraceStatus& trace) {
  std::string text;
  for (const api::PodRowTrace& pod : trace.pods) {
    text += pod.pod + "\n";
    if (!pod.message.empty()) text += "  " + pod.message + "\n";
    if (pod.message.empty() && pod.events.empty()) text += "  nothing happened to it here\n";
    for (const std::string& event : pod.events) text += "  " + event + "\n";
  }
  if (!trace.message.empty()) text += trace.message + "\n";
  return text;
}

}  // namespace attune::cli
