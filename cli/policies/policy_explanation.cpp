#include "cli/policies/policy_explanation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/display/table.h"
#include "cli/runs/jobs.h"
#include "operator/api/format.h"
#include "operator/policy/calendar.h"
#include "operator/policy/in_force.h"

namespace attune::cli {
namespace {

using policy::FieldInForce;

std::string NamesText(const policy::Effective& effective) {
  std::string text;
  for (const std::string& name : effective.policies) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// What the operator has said of the same question, where it differs.
std::string ReportNote(const api::TrainingJob& job, const policy::Effective& effective) {
  const std::string policies = NamesText(effective);
  const std::optional<api::PolicyInForce>& reported = job.status.policy;
  if (!reported) {
    return policies.empty() ? ""
                            : "the operator has not reported that it holds this job to policies (status.policy): it "
                              "has not looked at the job yet, or may not read policies";
  }
  if (reported->policies == policies && reported->mode == ToString(effective.mode)) return "";
  return "the operator reported last: mode " + reported->mode + " by " + reported->policies +
         " (status.policy); what stands here follows from the objects as they are now";
}

const FieldInForce* RowOf(const policy::Effective& effective, const std::string& field) {
  const auto at = std::ranges::find(effective.fields, field, &FieldInForce::field);
  return at == effective.fields.end() ? nullptr : &*at;
}

std::string HeadText(const PolicyExplanation& explanation) {
  std::string text = explanation.job + ": tuning " + ToString(explanation.effective.mode);
  const FieldInForce* mode = RowOf(explanation.effective, "mode");
  const std::string asked =
      explanation.asked_mode.empty() ? "the job states no mode" : "the job asks for " + explanation.asked_mode;
  if (explanation.asked_mode == ToString(explanation.effective.mode)) return text + ", as the job asks";
  if (mode != nullptr && mode->from != "the job") text += " by " + mode->from;
  return text + "; " + asked;
}

std::string WindowText(const policy::WindowNow& window, WallTime now) {
  const std::string text = window.schedule + ", at most " + ToString(window.mode) + " (" + window.policy + "): ";
  if (!window.always_because.empty()) return text + "holds always, for " + window.always_because;
  if (!window.changes_at) return text + (window.holds ? "holds always" : "never holds");
  const std::string when = policy::TextIn(window.zone, *window.changes_at);
  const std::string left = api::FormatAge(Seconds(*window.changes_at - now));
  return text + (window.holds ? "holds until " + when + ", " + left + " from now" : "begins " + when + ", in " + left);
}

std::string FieldTableText(const policy::Effective& effective) {
  Table table{.header = {"FIELD", "IN FORCE", "FROM", "OVERRULED"}, .rows = {}};
  for (const FieldInForce& row : effective.fields) {
    std::string overruled;
    for (const policy::Overruled& each : row.overruled)
      overruled += (overruled.empty() ? "" : ", ") + each.value + " (" + each.from + ")";
    table.rows.push_back({row.field, row.value, row.from, overruled});
  }
  std::string text;
  for (const std::string& line : FormatTable(table)) text += line + "\n";
  return text;
}

kube::Json Overruled(const FieldInForce& row) {
  kube::Json list = kube::Json::array();
  for (const policy::Overruled& each : row.overruled) list.push_back({{"value", each.value}, {"from", each.from}});
  return list;
}

}  // namespace

PolicyExplanation ExplainPolicies(const kube::Json& object, const std::vector<api::Policy>& policies,
                                  const std::optional<api::Labels>& namespace_labels, std::vector<std::string> notes,
                                  WallTime now) {
  const api::TrainingJob job = api::ParseTrainingJob(object).job;
  const policy::JobFacts facts = policy::FactsOf(object, namespace_labels, job.spec.tuning);
  PolicyExplanation made;
  made.job = job.name;
  made.name_space = job.name_space;
  made.ended = HasEnded(job.status);
  if (facts.states_mode) made.asked_mode = ToString(job.spec.tuning.mode);
  made.effective = policy::Resolve(facts, policies, now);
  for (const api::Policy& policy : policies) {
    if (const auto why = policy::WhyNotSelected(policy, facts)) {
      made.passed_by.push_back({NameOf(policy), *why});
      continue;
    }
    std::ranges::move(policy::WindowsOf(policy, now), std::back_inserter(made.windows));
  }
  made.notes = std::move(notes);
  const std::string note = made.ended ? "" : ReportNote(job, made.effective);
  if (!note.empty()) made.notes.push_back(note);
  return made;
}

std::string ToText(const PolicyExplanation& explanation, WallTime now) {
  const policy::Effective& effective = explanation.effective;
  std::string text = HeadText(explanation) + "\n";
  if (explanation.ended) text += "The job has ended; this is what would be in force.\n";
  for (const policy::Conflict& conflict : effective.conflicts) text += "Conflict: " + conflict.text + "\n";
  const std::string names = NamesText(effective);
  text += names.empty() ? "No policy selects it: it is tuned as its manifest says.\n" : "Policies: " + names + "\n";
  for (const policy::WindowNow& window : explanation.windows) text += "Window: " + WindowText(window, now) + "\n";
  text += "\n" + FieldTableText(effective);
  if (!explanation.passed_by.empty()) text += "\nPolicies that do not select it:\n";
  for (const PassedBy& each : explanation.passed_by)
    text += "  " + each.policy + ": " + each.why.why + " (" + each.why.field + ")\n";
  if (!explanation.notes.empty()) text += "\n";
  for (const std::string& note : explanation.notes) text += "Note: " + note + "\n";
  return text;
}

kube::Json ToJson(const PolicyExplanation& explanation) {
  using kube::Json;
  const policy::Effective& effective = explanation.effective;
  Json object = {{"job", explanation.job},
                 {"namespace", explanation.name_space},
                 {"policies", effective.policies},
                 {"mode", {{"inForce", ToString(effective.mode)}}}};
  if (!explanation.asked_mode.empty()) object["mode"]["asked"] = explanation.asked_mode;
  if (const FieldInForce* mode = RowOf(effective, "mode")) object["mode"]["from"] = mode->from;
  for (const char* list : {"conflicts", "windows", "fields", "notSelecting"}) object[list] = Json::array();
  for (const policy::Conflict& each : effective.conflicts)
    object["conflicts"].push_back({{"field", each.field}, {"between", each.between}, {"text", each.text}});
  for (const policy::WindowNow& each : explanation.windows) {
    Json& window = object["windows"].emplace_back();
    window = {
        {"policy", each.policy}, {"schedule", each.schedule}, {"mode", ToString(each.mode)}, {"holds", each.holds}};
    if (each.changes_at) window["changesAt"] = TimeText(ToUnixSeconds(*each.changes_at));
    if (!each.always_because.empty()) window["alwaysBecause"] = each.always_because;
  }
  if (effective.changes_at) object["changesAt"] = TimeText(ToUnixSeconds(*effective.changes_at));
  for (const FieldInForce& row : effective.fields)
    object["fields"].push_back(
        {{"field", row.field}, {"value", row.value}, {"from", row.from}, {"overruled", Overruled(row)}});
  for (const PassedBy& each : explanation.passed_by)
    object["notSelecting"].push_back({{"policy", each.policy}, {"field", each.why.field}, {"why", each.why.why}});
  object["notes"] = explanation.notes;
  if (explanation.ended) object["ended"] = true;
  return object;
}

}  // namespace attune::cli
