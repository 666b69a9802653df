// The table of fields: what the tuner does, and its decisions as the status keeps them.
#include "operator/api/status/tuning_status.h"

#include <utility>

#include "operator/api/status/part_binding.h"

namespace attune::api {
namespace {

// `part`: a setting of the tuner's that may be absent.
void AddSetting(std::vector<Field>& fields, const std::string& name, const std::string& description,
                std::optional<TuningSetting> TuningStatus::*part) {
  const std::string path = "status.tuning." + name;
  Field object = Object(path, description);
  object.present = [part](const TrainingJob& job) { return job.status.tuning && (*job.status.tuning.*part); };
  fields.push_back(object);
  const auto setting = [ tuning = PartLens(&TrainingJobStatus::tuning), part ](auto& job) -> auto& {
    auto& own = tuning(job).*part;
    if constexpr (std::is_const_v<std::remove_reference_t<decltype(job)>>) {
      static const TuningSetting kNone;
      return own ? *own : kNone;
    } else {
      return own ? *own : own.emplace();
    }
  };
  const auto add = [&](const char* field, const char* text, auto member) {
    fields.push_back(Bound(
        path + "." + field, text, [ setting, member ](auto& job) -> auto& { return setting(job).*member; }));
  };
  add("servers", "Servers.", &TuningSetting::servers);
  add("workers", "Workers.", &TuningSetting::workers);
  add("threads", "Threads of each worker; absent: not the tuner's to choose.", &TuningSetting::threads);
  add("slack", "Lead of the fastest over the slowest worker (0 BSP, 1000000 Async); absent: likewise.",
      &TuningSetting::slack);
  add("workerMillicores", "CPU limit of each worker; absent: likewise.", &TuningSetting::worker_millicores);
  add("serverMillicores", "CPU limit of each server; absent: likewise.", &TuningSetting::server_millicores);
  add("updatesPerSecond", "Updates of all workers together, as believed at the last decision; absent: not known.",
      &TuningSetting::updates_per_second);
  add("remainingSeconds", "Time to the goal at this setting, likewise.", &TuningSetting::remaining_seconds);
}

constexpr std::pair<const char*, std::optional<double> TuningDecision::*> kDecisionFigures[] = {
    {"expectedSpeedup", &TuningDecision::expected_speedup},
    {"measuredSpeedup", &TuningDecision::measured_speedup},
    {"costSeconds", &TuningDecision::cost_seconds},
};

}  // namespace

void AddTuningStatus(std::vector<Field>& fields) {
  constexpr auto kPart = &TrainingJobStatus::tuning;
  fields.push_back(PartObject("status.tuning", "Where the tuner stands.", kPart));
  const auto add = [&](const char* name, const char* description, auto member) {
    fields.push_back(PartMember(std::string("status.tuning.") + name, description, kPart, member));
  };
  const auto text = [&](const char* name, const char* description, auto member) {
    fields.push_back(OmitEmpty(PartMember(std::string("status.tuning.") + name, description, kPart, member)));
  };
  text("stage", "Learning, Moving, Trying, Keeping, Paused, Finished, Unavailable or Off.", &TuningStatus::stage);
  text("message", "What it does and why.", &TuningStatus::message);
  add("servers", "Servers it wants now, or once it has ended those of the spec; 0: nothing yet.",
      &TuningStatus::servers);
  add("workers", "Workers, likewise.", &TuningStatus::workers);
  add("threads", "Threads of each worker it wants; absent: not its to choose.", &TuningStatus::threads);
  add("slack",
      "Lead of the fastest over the slowest worker it wants (0 BSP, 1000000 Async); absent: not its to choose.",
      &TuningStatus::slack);
  add("workerMillicores", "CPU limit of each worker it wants; absent: not its to choose.",
      &TuningStatus::worker_millicores);
  add("serverMillicores", "CPU limit of each server it wants; absent: not its to choose.",
      &TuningStatus::server_millicores);
  text("since", "Since when it is at this stage, RFC 3339.", &TuningStatus::since);
  add("recommendedServers", "What it would choose.", &TuningStatus::recommended_servers);
  add("recommendedWorkers", "What it would choose.", &TuningStatus::recommended_workers);
  add("recommendedThreads", "What it would choose.", &TuningStatus::recommended_threads);
  add("recommendedSlack", "What it would choose.", &TuningStatus::recommended_slack);
  add("recommendedWorkerMillicores", "What it would choose.", &TuningStatus::recommended_worker_millicores);
  add("recommendedServerMillicores", "What it would choose.", &TuningStatus::recommended_server_millicores);
  add("remainingLowSeconds", "Remaining time, lower end of a 90 % interval.", &TuningStatus::remaining_low);
  add("remainingSeconds", "Remaining time at the best setting known.", &TuningStatus::remaining_seconds);
  add("remainingHighSeconds", "Its upper end.", &TuningStatus::remaining_high);
  add("changes", "Changes of setting so far.", &TuningStatus::changes);
  add("policyRefusals", "Times that a policy kept it from a change so far.", &TuningStatus::policy_refusals);
  AddSetting(fields, "current", "The setting that the job has.", &TuningStatus::current);
  AddSetting(fields, "best", "The best setting, as far as the tuner knows.", &TuningStatus::best);
  add("decisions", "The last changes of setting, the newest last; `attune explain` has them all.",
      &TuningStatus::decisions);
  text("state", "Of an earlier version: what is in the ConfigMap JOB-tuning since. Moved there and removed.",
       &TuningStatus::state);
}

void Binding<std::vector<TuningDecision>>::Set(std::vector<TuningDecision>& target, const Json& value) {
  for (const Json& each : value) {
    if (!each.is_object()) continue;
    const auto number = each.find("number"), elapsed = each.find("elapsedSeconds");
    TuningDecision& decision = target.emplace_back();
    if (number != each.end() && number->is_number_unsigned()) decision.number = number->get<uint64_t>();
    if (elapsed != each.end() && elapsed->is_number()) decision.elapsed_seconds = elapsed->get<double>();
    for (const auto& [name, member] : kDecisionFigures) {
      const auto at = each.find(name);
      if (at != each.end() && at->is_number()) decision.*member = at->get<double>();
    }
    decision.time = TextAt(each, "time");
    decision.kind = TextAt(each, "kind");
    decision.from = TextAt(each, "from");
    decision.to = TextAt(each, "to");
    decision.why = TextAt(each, "why");
    decision.expected = TextAt(each, "expected");
    decision.measured = TextAt(each, "measured");
    decision.outcome = TextAt(each, "outcome");
  }
}

Json Binding<std::vector<TuningDecision>>::Get(const std::vector<TuningDecision>& source) {
  if (source.empty()) return {};
  Json list = Json::array();
  for (const TuningDecision& decision : source) {
    Json& each = list.emplace_back(Json{{"number", decision.number},
                                        {"elapsedSeconds", decision.elapsed_seconds},
                                        {"kind", decision.kind},
                                        {"from", decision.from},
                                        {"to", decision.to},
                                        {"why", decision.why},
                                        {"expected", decision.expected},
                                        {"outcome", decision.outcome}});
    if (!decision.time.empty()) each["time"] = decision.time;
    if (!decision.measured.empty()) each["measured"] = decision.measured;
    for (const auto& [name, member] : kDecisionFigures)
      if (decision.*member) each[name] = *(decision.*member);
  }
  return list;
}

}  // namespace attune::api
