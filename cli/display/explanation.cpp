#include "cli/display/explanation.h"

#include <cmath>

#include "cli/display/table.h"
#include "cli/runs/jobs.h"
#include "operator/api/format.h"
#include "operator/controller/tuning/tuning_loop.h"
#include "operator/tuner/tuner.h"

namespace attune::cli {
namespace {

using kube::Json;

constexpr size_t kSettingsShown = 10;

std::string RemainingText(const api::TuningStatus& status) {
  if (!status.remaining_seconds) return "";
  std::string text = "about " + api::FormatSeconds(*status.remaining_seconds);
  if (status.remaining_low && status.remaining_high) {
    text +=
        " (" + api::FormatSeconds(*status.remaining_low) + " to " + api::FormatSeconds(*status.remaining_high) + ")";
  }
  return text;
}

Json ToJson(const tuner::Setting& setting, const tuner::SearchSpace& space) {
  Json object;
  for (int k = 0; k < space.knob_count(); ++k) object[space.knob_name(k)] = setting[static_cast<size_t>(k)];
  return object;
}

Json ToJson(const tuner::Gain& gain) { return {{"log", gain.mean}, {"deviation", gain.deviation}}; }

// `start`: of the job, seconds since 1970, from which the tuner counts; 0: not known.
Json ToJson(const tuner::NamedRecord& named, double start) {
  Json object = DecisionJson(named);
  object["text"] = tuner::Explain(named);
  if (start > 0) object["time"] = TimeText(start + named.record.time);
  return object;
}

Json ToJson(const tuner::SettingBelief& belief, const tuner::SearchSpace& space) {
  return {{"setting", ToJson(belief.setting, space)},
          {"secondsPerUpdate", belief.seconds_per_update},
          {"gain", ToJson(belief.gain)},
          {"efficiency", belief.efficiency},
          {"crashProbability", belief.crash_probability},
          {"windows", belief.windows},
          {"pricePerHour", belief.price_per_hour},
          {"relativeTime", belief.relative_time},
          {"relativeCost", belief.relative_cost}};
}

std::string Percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

std::vector<std::string> KnobNames(const tuner::SearchSpace& space) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(space.knob_count()));
  for (int k = 0; k < space.knob_count(); ++k) names.push_back(space.knob_name(k));
  return names;
}

std::vector<std::string> ValueTexts(const tuner::SearchSpace& space, const tuner::Setting& setting) {
  std::vector<std::string> texts;
  for (const int value : setting)
    texts.push_back(tuner::ValueText(space.knob_name(static_cast<int>(texts.size())), value));
  return texts;
}

// "x 0.71"
std::string RatioText(double ratio) { return "x " + api::FormatFigure(ratio); }

std::string TradeoffText(const tuner::Tuner& tuner, const std::vector<tuner::SettingBelief>& tradeoffs) {
  if (tradeoffs.empty()) return "";
  Table table{.header = KnobNames(tuner.space()), .rows = {}};
  table.header.insert(table.header.end(), {"TIME LEFT", "COST LEFT", "PRICE/H"});
  for (const tuner::SettingBelief& belief : tradeoffs) {
    std::vector<std::string> row = ValueTexts(tuner.space(), belief.setting);
    row.push_back(RatioText(belief.relative_time));
    row.push_back(RatioText(belief.relative_cost));
    row.push_back(api::FormatFigure(belief.price_per_hour));
    table.rows.push_back(std::move(row));
  }
  std::string text = "\nNo setting beats these in both time and cost (against the best by the job's objective):\n";
  for (const std::string& line : FormatTable(table)) text += "  " + line + "\n";
  return text;
}

std::string ModelText(const tuner::Tuner& tuner, const std::vector<tuner::SettingBelief>& beliefs) {
  if (beliefs.empty()) return "\nThe model has not been asked yet.\n";
  Table table{.header = KnobNames(tuner.space()), .rows = {}};
  table.header.insert(table.header.end(), {"UPDATES/S", "AGAINST BEST", "WORTH OF AN UPDATE", "MAY CRASH", "MEASURED"});
  for (const tuner::SettingBelief& belief : beliefs) {
    std::vector<std::string> row = ValueTexts(tuner.space(), belief.setting);
    row.push_back(api::FormatFigure(1 / std::max(belief.seconds_per_update, 1e-12)));
    row.push_back(tuner::Text(belief.gain));
    row.push_back(Percent(belief.efficiency));
    row.push_back(Percent(belief.crash_probability));
    row.push_back(belief.windows > 0 ? std::to_string(std::lround(belief.windows)) + " windows" : "no");
    table.rows.push_back(row);
  }
  std::string text = "\nBest settings as believed now (of " + std::to_string(tuner.space().size()) + "):\n";
  for (const std::string& line : FormatTable(table)) text += "  " + line + "\n";
  return text;
}

std::string HeadText(const api::TrainingJob& job) {
  const api::TuningStatus& status = *job.status.tuning;
  std::string text = job.name + ": tuning " + ToString(job.spec.tuning.mode);
  if (status.stage != ToString(job.spec.tuning.mode) && !HasEnded(job.status)) text += ", " + status.stage;
  if (status.servers > 0)
    text += " at " + controller::ToString({status.servers, status.workers, status.threads, status.slack,
                                           status.worker_millicores, status.server_millicores});
  const std::string changes = std::to_string(status.changes) + (status.changes == 1 ? " change" : " changes");
  if (HasEnded(job.status)) return text + ", " + changes + "; the job has ended\n";
  text += ", " + changes + " so far\n";
  if (const std::string remaining = RemainingText(status); !remaining.empty()) text += "Remaining: " + remaining + "\n";
  if (status.recommended_servers) {
    text += "Recommended: " +
            controller::ToString({*status.recommended_servers, status.recommended_workers.value_or(0),
                                  status.recommended_threads, status.recommended_slack,
                                  status.recommended_worker_millicores, status.recommended_server_millicores}) +
            "\n";
  }
  return text + "Now: " + status.message + "\n";
}

Json HeadJson(const api::TrainingJob& job) {
  const api::TuningStatus& status = *job.status.tuning;
  Json object = {{"job", job.name},
                 {"mode", ToString(job.spec.tuning.mode)},
                 {"stage", status.stage},
                 {"message", status.message},
                 {"changes", status.changes}};
  if (status.servers > 0) object["setting"] = {{"servers", status.servers}, {"workers", status.workers}};
  if (status.threads) object["setting"]["threads"] = *status.threads;
  if (status.slack) object["setting"]["slack"] = *status.slack;
  if (status.worker_millicores) object["setting"]["workerMillicores"] = *status.worker_millicores;
  if (status.server_millicores) object["setting"]["serverMillicores"] = *status.server_millicores;
  if (HasEnded(job.status)) object["ended"] = true;
  if (status.remaining_seconds && !HasEnded(job.status)) {
    object["remaining"] = {{"low", status.remaining_low.value_or(0)},
                           {"mid", *status.remaining_seconds},
                           {"high", status.remaining_high.value_or(0)}};
  }
  if (status.recommended_servers) {
    object["recommendation"] = {{"servers", *status.recommended_servers},
                                {"workers", status.recommended_workers.value_or(0)}};
    if (status.recommended_threads) object["recommendation"]["threads"] = *status.recommended_threads;
    if (status.recommended_slack) object["recommendation"]["slack"] = *status.recommended_slack;
    if (status.recommended_worker_millicores)
      object["recommendation"]["workerMillicores"] = *status.recommended_worker_millicores;
    if (status.recommended_server_millicores)
      object["recommendation"]["serverMillicores"] = *status.recommended_server_millicores;
  }
  object["decisions"] = Json::array();
  return object;
}

}  // namespace

Json DecisionJson(const tuner::NamedRecord& named) {
  const tuner::DecisionRecord& record = named.record;
  const auto setting = [&](const tuner::Setting& values) {
    Json object;
    for (size_t k = 0; k < named.knobs.size(); ++k) object[named.knobs[k]] = values[k];
    return object;
  };
  Json object = {{"number", record.number},
                 {"elapsedSeconds", record.time},
                 {"kind", tuner::Name(record.kind)},
                 {"from", setting(record.from)},
                 {"to", setting(record.to)},
                 {"why", record.why},
                 {"predictedGain", ToJson(record.predicted)},
                 {"costSeconds", record.cost_seconds},
                 {"verdict", tuner::Name(record.verdict)}};
  if (record.measured) object["measuredGain"] = ToJson(*record.measured);
  return object;
}

StatusOr<Explanation> Explain(const api::TrainingJob& job, const std::string& saved, bool model) {
  if (!job.status.tuning) {
    const bool off = job.spec.tuning.mode == api::TuningMode::kOff;
    return Error(StatusCode::kFailedPrecondition,
                 off ? "job " + job.name + " is not tuned (spec.tuning.mode is Off): `attune tune auto " + job.name +
                           "` lets the tuner work on it, `attune tune recommend " + job.name + "` asks for its opinion"
                     : "the tuner has not looked at job " + job.name + " yet");
  }
  Explanation explanation{HeadText(job), HeadJson(job)};
  explanation.json["findings"] = Json::array();
  std::vector<std::string> findings = controller::TuningLoop::FindingsOf(saved);
  if (HasEnded(job.status)) findings.clear();
  if (!findings.empty()) explanation.text += "\nWrong now:\n";
  for (const std::string& finding : findings) {
    explanation.text += "  " + finding + "\n";
    explanation.json["findings"].push_back(finding);
  }
  const std::vector<tuner::NamedRecord> story = controller::TuningLoop::StoryOf(saved);
  if (story.empty())
    explanation.text += HasEnded(job.status) ? "\nNothing was tried.\n" : "\nNothing was tried so far.\n";
  for (const tuner::NamedRecord& named : story) {
    explanation.text += "\n" + std::to_string(named.record.number) + ". " + tuner::Explain(named) + "\n";
    explanation.json["decisions"].push_back(ToJson(named, ParseTime(job.status.start_time)));
  }
  if (!model) return explanation;
  const std::string state = controller::TuningLoop::TunerStateOf(saved);
  if (state.empty()) {
    explanation.text += "\nThere is no model now: the tuner is not at work.\n";
    return explanation;
  }
  tuner::PriorCache priors;
  ASSIGN_OR_RETURN(const tuner::Tuner tuner, tuner::Tuner::Load(state, priors));
  const std::vector<tuner::SettingBelief> beliefs = tuner.Beliefs(kSettingsShown);
  explanation.text += ModelText(tuner, beliefs);
  explanation.json["model"] = Json::array();
  for (const tuner::SettingBelief& belief : beliefs) explanation.json["model"].push_back(ToJson(belief, tuner.space()));
  const std::vector<tuner::SettingBelief> tradeoffs = tuner.Tradeoffs(kSettingsShown);
  explanation.text += TradeoffText(tuner, tradeoffs);
  explanation.json["tradeoffs"] = Json::array();
  for (const tuner::SettingBelief& belief : tradeoffs) {
    explanation.json["tradeoffs"].push_back(ToJson(belief, tuner.space()));
  }
  return explanation;
}

}  // namespace attune::cli
