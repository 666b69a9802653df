#include "cli/policies/policy_preview.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "cli/runs/jobs.h"
#include "operator/controller/policies/bounds.h"
#include "operator/kube/quantity.h"
#include "operator/policy/in_force.h"
#include "operator/policy/windows.h"
#include "operator/tuner/space/knob.h"

namespace attune::cli {
namespace {

using api::PolicyKnob;
using policy::Effective;

struct Pair {
  Effective before, after;
};

std::vector<FieldChange> FieldChanges(const Pair& pair) {
  struct Sides {
    const policy::FieldInForce *before = nullptr, *after = nullptr;
  };
  std::map<std::string, Sides> rows;
  std::vector<std::string> order;  // of the resolver
  for (const auto& [effective, side] :
       {std::pair(&pair.after, &Sides::after), std::pair(&pair.before, &Sides::before)}) {
    for (const policy::FieldInForce& row : effective->fields) {
      const auto [at, is_new] = rows.try_emplace(row.field);
      if (is_new) order.push_back(row.field);
      at->second.*side = &row;
    }
  }
  std::vector<FieldChange> changes;
  for (const std::string& field : order) {
    const auto& [before, after] = rows.at(field);
    if (before != nullptr && after != nullptr && before->value == after->value) continue;
    FieldChange& change = changes.emplace_back();
    change.field = field;
    if (before != nullptr) change.before = before->value;
    if (after != nullptr) change.after = after->value;
    change.from = after != nullptr ? after->from : before->from;
  }
  return changes;
}

std::string FigureText(PolicyKnob knob, int64_t value) {
  if (knob == PolicyKnob::kServerCpu || knob == PolicyKnob::kWorkerCpu) return kube::FormatMillicores(value);
  return tuner::ValueText(api::kPolicyKnobNames.at(static_cast<size_t>(knob)), static_cast<int>(value));
}

std::vector<KnobOutside> KnobsOutside(const Effective& rules, const controller::JobSetting& present) {
  const std::pair<PolicyKnob, std::optional<int32_t>> values[] = {{PolicyKnob::kServers, present.servers},
                                                                  {PolicyKnob::kWorkers, present.workers},
                                                                  {PolicyKnob::kThreads, present.threads},
                                                                  {PolicyKnob::kSlack, present.slack},
                                                                  {PolicyKnob::kServerCpu, present.server_millicores},
                                                                  {PolicyKnob::kWorkerCpu, present.worker_millicores}};
  std::vector<KnobOutside> outside;
  for (const auto& [knob, value] : values) {
    if (!value) continue;
    const int64_t nearest = policy::Nearest(rules.Of(knob), *value);
    if (nearest == *value) continue;
    outside.push_back({.knob = std::string(api::kPolicyKnobNames.at(static_cast<size_t>(knob))),
                       .present = FigureText(knob, *value),
                       .nearest = FigureText(knob, nearest),
                       .at_once = rules.shrinks_now});
  }
  return outside;
}

std::vector<std::string> ConflictsOnlyIn(const Effective& one, const Effective& other) {
  std::vector<std::string> texts;
  for (const policy::Conflict& conflict : one.conflicts) {
    if (std::ranges::find(other.conflicts, conflict) == other.conflicts.end()) texts.push_back(conflict.text);
  }
  return texts;
}

JobChange ChangeOf(const api::TrainingJob& job, const Pair& pair) {
  JobChange change;
  change.job = {job.name_space, job.name};
  change.fields = FieldChanges(pair);
  const controller::JobSetting present = controller::SettingOf(job);
  change.outside = KnobsOutside(pair.after, present);
  const std::vector<KnobOutside> already = KnobsOutside(pair.before, present);
  std::erase_if(change.outside,
                [&](const KnobOutside& each) { return std::ranges::find(already, each) != already.end(); });
  change.conflicts = ConflictsOnlyIn(pair.after, pair.before);
  change.ended = ConflictsOnlyIn(pair.before, pair.after);
  return change;
}

class Previewer {
 public:
  Previewer(PreviewInput input, WallTime now) : input_(std::move(input)), now_(now), after_(input_.present) {
    for (const api::Policy& policy : input_.proposed) {
      const size_t replaced =
          std::erase_if(after_, [&](const api::Policy& each) { return NameOf(each) == NameOf(policy); });
      made_.policies.push_back({NameOf(policy), replaced > 0, 0});
    }
    after_.insert(after_.end(), input_.proposed.begin(), input_.proposed.end());
  }

  PolicyPreview Run() {
    made_.notes = std::move(input_.notes);
    for (const kube::Json& object : input_.jobs) LookAt(object);
    for (const api::Policy& policy : input_.proposed) LookAhead(policy);
    return std::move(made_);
  }

 private:
  void LookAt(const kube::Json& object) {
    const api::TrainingJob job = api::ParseTrainingJob(object).job;
    if (HasEnded(job.status)) {
      ++made_.ended;
      return;
    }
    const policy::JobFacts facts =
        policy::FactsOf(object, LabelsIn(input_.namespaces, job.name_space), job.spec.tuning);
    for (size_t i = 0; i < input_.proposed.size(); ++i) {
      if (policy::Selects(input_.proposed[i], facts)) ++made_.policies[i].selects;
    }
    JobChange change = ChangeOf(job, At(facts, now_));
    if (change.empty()) {
      ++made_.unchanged;
    } else {
      made_.changed.push_back(std::move(change));
    }
    facts_.push_back(facts);
  }

  // What a look in the evening would not show: windows that begin in the morning.
  void LookAhead(const api::Policy& policy) {
    for (policy::WindowNow& window : policy::WindowsOf(policy, now_)) {
      if (window.holds || !window.changes_at) continue;
      LaterChange later{std::move(window), 0};
      for (const policy::JobFacts& facts : facts_) {
        const auto [before, after] = At(facts, *later.window.changes_at);
        if (policy::Selects(policy, facts) && policy::Reach(after.mode) < policy::Reach(before.mode)) ++later.jobs;
      }
      made_.later.push_back(std::move(later));
    }
  }

  Pair At(const policy::JobFacts& facts, WallTime time) const {
    return {policy::Resolve(facts, input_.present, time), policy::Resolve(facts, after_, time)};
  }

  PreviewInput input_;
  const WallTime now_;
  std::vector<api::Policy> after_;
  std::vector<policy::JobFacts> facts_;  // of jobs that have not ended
  PolicyPreview made_;
};

}  // namespace

PolicyPreview PreviewPolicies(PreviewInput input, WallTime now) { return Previewer(std::move(input), now).Run(); }

StatusOr<PolicyPreview> TryPolicies(kube::Api& api, std::vector<api::Policy> proposed, const std::string& own_namespace,
                                    WallTime now) {
  PreviewInput input;
  ASSIGN_OR_RETURN(JobsUnder under, ReadJobsUnder(api, proposed, own_namespace, input.notes));
  const auto stored = ReadPolicies(api, under.namespaces);
  if (stored.ok()) {
    input.present = stored->Values();
    input.notes.insert(input.notes.end(), stored->notes.begin(), stored->notes.end());
  } else if (stored.status().code() == StatusCode::kFailedPrecondition) {
    input.notes.emplace_back(Message(stored.status()));  // the kinds are not there yet: nothing could be replaced
  } else {
    return stored.status();
  }
  std::vector<api::Policy> all = input.present;
  all.insert(all.end(), proposed.begin(), proposed.end());
  std::vector<std::string> names;
  for (const kube::Json& job : under.jobs) names.emplace_back(kube::Namespace(job));
  input.namespaces = ReadNamespaceLabels(api, names, all, input.notes);
  input.proposed = std::move(proposed);
  input.jobs = std::move(under.jobs);
  return PreviewPolicies(std::move(input), now);
}

}  // namespace attune::cli
