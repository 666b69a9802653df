#include <string>

#include "cli/display/table.h"
#include "cli/policies/policy_preview.h"
#include "cli/runs/jobs.h"
#include "operator/api/format.h"
#include "operator/policy/calendar.h"

namespace attune::cli {
namespace {

std::string OrNone(const std::optional<std::string>& value) { return value.value_or("none"); }

std::string Jobs(size_t count) { return std::to_string(count) + (count == 1 ? " job" : " jobs"); }

std::string OutsideText(const KnobOutside& outside) {
  const std::string text = outside.knob + " " + outside.present;
  if (outside.at_once) return text + " -> " + outside.nearest + " at once (onViolation: ShrinkNow)";
  return text + " stays until it is changed, outside of the bounds (onViolation: Keep); the nearest inside is " +
         outside.nearest;
}

std::string ChangeText(const JobChange& change) {
  std::string text = "\n" + change.job.ToString() + ":\n";
  Table table{.header = {"FIELD", "NOW", "THEN", "FROM"}, .rows = {}};
  for (const FieldChange& field : change.fields) {
    table.rows.push_back(
        {field.field, OrNone(field.before), OrNone(field.after), field.after ? field.from : "was " + field.from});
  }
  if (!table.rows.empty()) {
    for (const std::string& line : FormatTable(table)) text += "  " + line + "\n";
  }
  for (const KnobOutside& outside : change.outside) text += "  " + OutsideText(outside) + "\n";
  for (const std::string& conflict : change.conflicts) text += "  conflict: " + conflict + "\n";
  for (const std::string& conflict : change.ended) text += "  no conflict any more: " + conflict + "\n";
  return text;
}

std::string LaterText(const LaterChange& later, WallTime now) {
  const policy::WindowNow& window = later.window;
  return "From " + policy::TextIn(window.zone, *window.changes_at) + " on, in " +
         api::FormatAge(Seconds(*window.changes_at - now)) + ": a lower mode for " + Jobs(later.jobs) + " (" +
         window.policy + ", window " + window.schedule + ", at most " + ToString(window.mode) + ")\n";
}

kube::Json ToJson(const JobChange& change) {
  using kube::Json;
  Json object = {{"job", change.job.name},
                 {"namespace", change.job.name_space},
                 {"conflicts", change.conflicts},
                 {"conflictsEnded", change.ended}};
  object["fields"] = object["outside"] = Json::array();
  for (const FieldChange& field : change.fields) {
    object["fields"].push_back({{"field", field.field},
                                {"before", field.before ? Json(*field.before) : Json()},
                                {"after", field.after ? Json(*field.after) : Json()},
                                {"from", field.from}});
  }
  for (const KnobOutside& outside : change.outside) {
    object["outside"].push_back({{"knob", outside.knob},
                                 {"present", outside.present},
                                 {"nearest", outside.nearest},
                                 {"atOnce", outside.at_once}});
  }
  return object;
}

}  // namespace

std::string ToText(const PolicyPreview& preview, WallTime now) {
  std::string text;
  for (const TriedPolicy& policy : preview.policies) {
    text += policy.name + (policy.replaces ? " (replaces the one there)" : " (new)") + ": selects " +
            Jobs(policy.selects) + "\n";
  }
  for (const JobChange& change : preview.changed) text += ChangeText(change);
  if (!preview.changed.empty()) text += "\n";
  text += Jobs(preview.changed.size()) + " would change, " + std::to_string(preview.unchanged) + " would not";
  if (preview.ended > 0)
    text += ", " + std::to_string(preview.ended) + (preview.ended == 1 ? " has ended" : " have ended");
  text += "; nothing was applied\n";
  for (const LaterChange& later : preview.later) text += LaterText(later, now);
  for (const std::string& note : preview.notes) text += "Note: " + note + "\n";
  return text;
}

kube::Json ToJson(const PolicyPreview& preview) {
  using kube::Json;
  Json object = {{"unchanged", preview.unchanged}, {"ended", preview.ended}, {"notes", preview.notes}};
  object["policies"] = object["changed"] = object["later"] = Json::array();
  for (const TriedPolicy& policy : preview.policies) {
    object["policies"].push_back({{"policy", policy.name}, {"replaces", policy.replaces}, {"selects", policy.selects}});
  }
  for (const JobChange& change : preview.changed) object["changed"].push_back(ToJson(change));
  for (const LaterChange& later : preview.later) {
    object["later"].push_back({{"policy", later.window.policy},
                               {"schedule", later.window.schedule},
                               {"mode", ToString(later.window.mode)},
                               {"from", TimeText(ToUnixSeconds(*later.window.changes_at))},
                               {"jobs", later.jobs}});
  }
  return object;
}

}  // namespace attune::cli
