#include "cli/report/report_marks.h"

#include <algorithm>

#include "cli/display/chart.h"
#include "operator/controller/observe/names.h"

namespace attune::cli {
namespace {

// What a reader of the curves wants to see on them, and its color.
const char* ColorOf(const JobEvent& event) {
  using namespace controller;
  const auto is = [&](std::initializer_list<const char*> reasons) {
    return std::any_of(reasons.begin(), reasons.end(), [&](const char* reason) { return event.reason == reason; });
  };
  if (is({kEventServerFailed, kEventServerReplaced, kEventWorkerFailed, kEventWorkerReplaced, kEventNodeLost,
          kEventRowsRestored, kEventFailed})) {
    return kRed;
  }
  if (is({kEventServersJoining, kEventServersDraining, kEventServerLeft, kEventWorkersCreated, kEventWorkersDraining,
          kEventWorkerLeft})) {
    return kBlue;
  }
  if (is({kEventCheckpointWritten, kEventCheckpointFailed})) return kGreen;
  if (is({kEventSynchronized, kEventCoordinatorAppointed, kEventCoordinatorConfirmed})) return kPurple;
  if (is({kEventTuningTrial, kEventTuningMove, kEventTuningCrashed, kEventTuningFinished})) return kOrange;
  return nullptr;
}

// What follows from a change of the tuner and needs no mark of its own.
bool IsPartOfChange(const JobEvent& event) {
  using namespace controller;
  for (const char* reason : {kEventServersJoining, kEventServersDraining, kEventServerLeft, kEventServersCreated,
                             kEventWorkersCreated, kEventWorkersDraining, kEventWorkerLeft, kEventSynchronized,
                             kEventScaled, kEventCoordinatorAppointed, kEventCoordinatorConfirmed}) {
    if (event.reason == reason) return true;
  }
  return false;
}

// The outcomes of the tuner's changes come in their order; each belongs to the oldest change that has none.
void FoldOutcomes(std::vector<EventMark>& marked) {
  std::vector<EventMark*> open;
  for (EventMark& each : marked) {
    if (IsChangeOfTuner(*each.event)) {
      if (!open.empty() && open.back()->until == 0) open.back()->until = each.at;
      open.push_back(&each);
    } else if (each.event->reason == controller::kEventTuningOutcome && !open.empty()) {
      EventMark& change = *open.front();
      open.erase(open.begin());
      change.outcome = each.event;
      if (change.until == 0) change.until = each.at;
      each.folded = true;
    }
  }
}

// "; kept." at the end of an outcome, "not taken".
std::string Verdict(const JobEvent& outcome) {
  const size_t at = outcome.note.rfind("; ");
  return at == std::string::npos ? outcome.note : outcome.note.substr(at + 2);
}

}  // namespace

bool IsChangeOfTuner(const JobEvent& event) {
  return event.reason == controller::kEventTuningTrial || event.reason == controller::kEventTuningMove;
}

std::vector<EventMark> MarksOf(const RunHistory& history, double start) {
  constexpr double kPodsFollowWithin = 30;  // seconds after a change of the tuner
  std::vector<EventMark> marked;
  int number = 0;
  size_t last_change = 0;
  const auto is_part = [&](const JobEvent& event, double at) {
    return IsPartOfChange(event) && last_change < marked.size() && IsChangeOfTuner(*marked[last_change].event) &&
           at - marked[last_change].at < kPodsFollowWithin;
  };
  for (const JobEvent& event : history.events) {
    const double at = ParseTime(event.time) - start;
    const char* color = ColorOf(event);
    const bool part = is_part(event, at);
    if (part) {
      color = nullptr;
      marked[last_change].parts.push_back(&event);
    }
    if (IsChangeOfTuner(event)) last_change = marked.size();
    // Workers made before training began are how a job starts.
    if (event.reason == controller::kEventWorkersCreated && number == 0 && at < 5) color = nullptr;
    marked.push_back({&event, at, color, color != nullptr ? ++number : 0});
    marked.back().folded = part;
  }
  FoldOutcomes(marked);
  return marked;
}

bool WasKept(const EventMark& mark) { return mark.outcome != nullptr && Verdict(*mark.outcome).starts_with("kept"); }

std::string OutcomeText(const JobEvent& outcome) {
  const size_t at = outcome.note.find("; measured ");
  return at == std::string::npos ? Verdict(outcome) : outcome.note.substr(at + 2);
}

std::string RowId(const EventMark& mark) { return "e" + std::to_string(mark.number); }

std::string Badge(const EventMark& mark) {
  return std::string("<a class=\"n\" style=\"background:") + mark.color + "\" href=\"#" + RowId(mark) + "\">" +
         std::to_string(mark.number) + "</a>";
}

}  // namespace attune::cli
