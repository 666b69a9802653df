#include "cli/report/report_events.h"

#include <algorithm>

#include "cli/report/page.h"
#include "operator/api/format.h"
#include "operator/controller/observe/text.h"

namespace attune::cli {
namespace {

// What followed from a change of the tuner, for who wants to see it.
std::string PartsText(const EventMark& mark, double start) {
  if (mark.parts.empty()) return "";
  std::string text = "<details><summary>" + controller::Counted(static_cast<int64_t>(mark.parts.size()), "step") +
                     " of this change</summary>";
  for (const JobEvent* event : mark.parts) {
    text += api::FormatSeconds(std::max(0.0, ParseTime(event->time) - start)) + " " + EscapeHtml(event->reason) + ": " +
            EscapeHtml(event->note) + "<br>";
  }
  return text + "</details>";
}

}  // namespace

std::string EventsSection(const std::vector<EventMark>& marks, const RunSettings& settings, double start) {
  if (marks.empty()) return "";
  std::string text =
      "<h2 id=\"events\">What happened</h2>\n<table class=\"events\"><tr><th></th><th>at</th><th>event</th>"
      "<th></th></tr>\n";
  for (const EventMark& each : marks) {
    if (each.folded) continue;
    text += each.number > 0 ? "<tr id=\"" + RowId(each) + "\"><td>" + Badge(each) : "<tr><td>";
    std::string note = each.event->note;
    if (each.event->count > 1) note += " (" + std::to_string(each.event->count) + " times)";
    text += "</td><td>" + api::FormatSeconds(std::max(0.0, each.at)) + "</td><td>" + EscapeHtml(each.event->reason) +
            "</td><td>" + EscapeHtml(note);
    if (each.outcome != nullptr) text += "<br><b>" + EscapeHtml(OutcomeText(*each.outcome)) + "</b>";
    if (const std::string link = settings.LinkFrom(each); !link.empty()) text += " " + link;
    text += PartsText(each, start);
    text += "</td></tr>\n";
  }
  return text + "</table>\n";
}

}  // namespace attune::cli
