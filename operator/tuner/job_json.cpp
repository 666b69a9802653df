#include "operator/tuner/job_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace attune::tuner {
namespace {

using Json = nlohmann::ordered_json;  // entries of `allowed` follow the order in which knobs are named

Status Bad(const std::string& text) { return Error(StatusCode::kInvalidArgument, text); }

std::string Shown(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

// null is absent: some programs write it for "not measured".
const Json* Field(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

// A number, or one of the words that JSON lacks: they arrive as text or not at all.
StatusOr<double> Number(const Json& json, const std::string& name) {
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (text == "NaN" || text == "nan") return std::nan("");
    if (text == "Infinity" || text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity" || text == "-inf") return -std::numeric_limits<double>::infinity();
  }
  return Bad(name + " must be a number, found " + Shown(json));
}

Status TakeNumber(const Json& json, const char* name, double& value) {
  const Json* field = Field(json, name);
  if (field == nullptr) return OkStatus();
  ASSIGN_OR_RETURN(value, Number(*field, name));
  return OkStatus();
}

Status TakeOptional(const Json& json, const char* name, std::optional<double>& value) {
  const Json* field = Field(json, name);
  if (field == nullptr) return OkStatus();
  ASSIGN_OR_RETURN(value, Number(*field, name));
  return OkStatus();
}

StatusOr<int> KnobValue(const Json& json, const std::string& name) {
  if (!json.is_number()) return Bad("knob " + name + " must be a whole number, found " + Shown(json));
  const auto value = json.get<double>();
  if (value != std::floor(value) || value < 0 || value > kKnobValueMax)
    return Bad("knob " + name + " must be a whole number in 0.." + std::to_string(kKnobValueMax) + ", found " +
               Shown(json));
  return static_cast<int>(value);
}

// "servers": [1, 8] or {"low": 1, "high": 8, "cost": "relocation"}. The order of the knobs is that of the text.
StatusOr<KnobRange> RangeFromJson(const std::string& name, const Json& json) {
  KnobRange range{.name = name};
  if (json.is_array() && json.size() == 2) {
    ASSIGN_OR_RETURN(range.low, KnobValue(json[0], name));
    ASSIGN_OR_RETURN(range.high, KnobValue(json[1], name));
    return range;
  }
  const Json* low = json.is_object() ? Field(json, "low") : nullptr;
  const Json* high = json.is_object() ? Field(json, "high") : nullptr;
  if (low == nullptr || high == nullptr)
    return Bad("the range of knob " + name + " must be [low, high] or {\"low\":..,\"high\":..}, found " + Shown(json));
  ASSIGN_OR_RETURN(range.low, KnobValue(*low, name));
  ASSIGN_OR_RETURN(range.high, KnobValue(*high, name));
  if (const Json* cost = Field(json, "cost")) {
    range.cost = cost->is_string() ? ParseCostClass(cost->get<std::string>()) : std::nullopt;
    if (!range.cost)
      return Bad("the cost of knob " + name + " must be live, relocation, resize, pods or pod_move, found " +
                 Shown(*cost));
  }
  return range;
}

Status TakeAllowed(const Json& json, SpaceDescription& space) {
  if (!json.is_array()) return Bad("space.allowed must be an array of settings");
  if (json.size() > kAllowedMax)
    return Bad("space.allowed has " + std::to_string(json.size()) + " entries; at most " + std::to_string(kAllowedMax));
  for (const Json& entry : json) {
    if (entry.is_object()) {
      ASSIGN_OR_RETURN(Setting setting, SettingFromJson(entry, space.knobs));
      space.allowed.push_back(std::move(setting));
      continue;
    }
    if (!entry.is_array() || entry.size() != space.knobs.size())
      return Bad("an entry of space.allowed must have one value for each of the " + std::to_string(space.knobs.size()) +
                 " knobs, found " + Shown(entry));
    Setting setting;
    for (size_t k = 0; k < space.knobs.size(); ++k) {
      ASSIGN_OR_RETURN(const int value, KnobValue(entry[k], space.knobs[k].name));
      setting.push_back(value);
    }
    space.allowed.push_back(std::move(setting));
  }
  if (space.allowed.empty())
    return Bad("space.allowed is empty: no setting may be proposed; leave it out to allow all");
  return OkStatus();
}

Status TakeLimits(const Json& json, SpaceDescription& space) {
  if (!json.is_array() || json.size() > 64) return Bad("space.limits must be an array of at most 64 limits");
  for (const Json& entry : json) {
    Limit limit;
    const Json* terms = entry.is_object() ? Field(entry, "terms") : nullptr;
    const Json* most = entry.is_object() ? Field(entry, "most") : nullptr;
    if (terms == nullptr || !terms->is_array() || most == nullptr)
      return Bad("a limit must be {\"terms\":[{\"knobs\":[..],\"coefficient\":..}],\"most\":..}, found " +
                 Shown(entry));
    ASSIGN_OR_RETURN(limit.most, Number(*most, "most"));
    if (const Json* what = Field(entry, "what"); what != nullptr && what->is_string())
      limit.what = what->get<std::string>();
    for (const Json& part : *terms) {
      Limit::Term term;
      const Json* knobs = part.is_object() ? Field(part, "knobs") : nullptr;
      if (knobs == nullptr || !knobs->is_array())
        return Bad("a term of a limit must name its knobs, found " + Shown(part));
      for (const Json& name : *knobs) {
        if (!name.is_string()) return Bad("a term of a limit must name its knobs, found " + Shown(part));
        term.knobs.push_back(name.get<std::string>());
      }
      RETURN_IF_ERROR(TakeNumber(part, "coefficient", term.coefficient));
      limit.terms.push_back(std::move(term));
    }
    space.limits.push_back(std::move(limit));
  }
  return OkStatus();
}

template <typename Container>
std::string Words(const Container& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + std::string(word.first);
  return text;
}

constexpr std::pair<const char*, GoalKind> kGoals[] = {{"loss", GoalKind::kLoss},
                                                       {"metric", GoalKind::kMetric},
                                                       {"steps", GoalKind::kSteps},
                                                       {"epochs", GoalKind::kEpochs}};

Status TakeGoal(const Json& json, Goal& goal) {
  const Json* kind = json.is_object() ? Field(json, "kind") : nullptr;
  if (kind == nullptr || !kind->is_string()) return Bad("goal.kind must be one of: " + Words(kGoals));
  bool known = false;
  for (const auto& [name, value] : kGoals) {
    if (kind->get_ref<const std::string&>() != name) continue;
    goal.kind = value;
    known = true;
  }
  if (!known) return Bad("goal.kind must be one of: " + Words(kGoals) + "; found " + Shown(*kind));
  RETURN_IF_ERROR(TakeNumber(json, "max_steps", goal.max_steps));
  RETURN_IF_ERROR(TakeNumber(json, "max_seconds", goal.max_seconds));
  RETURN_IF_ERROR(TakeNumber(json, "steps_per_epoch", goal.steps_per_epoch));
  RETURN_IF_ERROR(TakeNumber(json, "target", goal.target));
  if (const Json* better = Field(json, "better")) {
    const std::string word = better->is_string() ? better->get<std::string>() : "";
    if (word != "higher" && word != "lower")
      return Bad("goal.better must be higher or lower, and is of a metric; found " + Shown(*better));
    goal.metric_falls = word == "lower";
  }
  if (goal.kind == GoalKind::kSteps && Field(json, "target") == nullptr) goal.target = goal.max_steps;
  return OkStatus();
}

constexpr std::pair<const char*, ObjectiveKind> kObjectives[] = {
    {"time", ObjectiveKind::kTime},
    {"cost", ObjectiveKind::kCost},
    {"time_under_budget", ObjectiveKind::kTimeUnderBudget}};

// "cost", or {"kind": "cost", "prices": {"worker_millicores": 0.04, ...}, "budget": 10}.
Status TakeObjective(const Json& json, Objective& objective) {
  const Json* kind = json.is_object() ? Field(json, "kind") : &json;
  const std::string word = kind != nullptr && kind->is_string() ? kind->get<std::string>() : "";
  bool known = kind == nullptr;  // prices alone
  for (const auto& [name, value] : kObjectives) {
    if (word != name) continue;
    objective.kind = value;
    known = true;
  }
  if (!known) return Bad("objective must be one of: " + Words(kObjectives) + "; found " + Shown(*kind));
  if (!json.is_object()) return OkStatus();
  RETURN_IF_ERROR(TakeNumber(json, "budget", objective.budget));
  const Json* prices = Field(json, "prices");
  if (prices == nullptr) return OkStatus();
  if (!prices->is_object() || prices->size() > kKnobsMax)
    return Bad("objective.prices must be an object of numbers by knob, found " + Shown(*prices));
  for (const auto& [name, price] : prices->items()) {
    ASSIGN_OR_RETURN(const double value, Number(price, "the price of " + name));
    objective.prices.emplace_back(name, value);
  }
  return OkStatus();
}

Status TakeParts(const Json& json, JobDescription& job) {
  const Json* space = Field(json, "space");
  const Json* knobs = space != nullptr && space->is_object() ? Field(*space, "knobs") : nullptr;
  if (knobs == nullptr || !knobs->is_object()) return Bad("space.knobs must be an object of ranges by knob name");
  if (knobs->size() > kKnobsMax)
    return Bad("space.knobs has " + std::to_string(knobs->size()) + " knobs; at most " + std::to_string(kKnobsMax));
  for (const auto& [name, range] : knobs->items()) {
    ASSIGN_OR_RETURN(KnobRange one, RangeFromJson(name, range));
    job.space.knobs.push_back(std::move(one));
  }
  if (const Json* allowed = Field(*space, "allowed")) RETURN_IF_ERROR(TakeAllowed(*allowed, job.space));
  if (const Json* limits = Field(*space, "limits")) RETURN_IF_ERROR(TakeLimits(*limits, job.space));
  const Json* goal = Field(json, "goal");
  if (goal == nullptr) return Bad("goal is missing; it needs a kind (" + Words(kGoals) + ") and a target");
  RETURN_IF_ERROR(TakeGoal(*goal, job.goal));
  if (const Json* costs = Field(json, "costs"); costs != nullptr && costs->is_object()) {
    RETURN_IF_ERROR(TakeNumber(*costs, "live_s", job.costs.live));
    RETURN_IF_ERROR(TakeNumber(*costs, "relocation_s", job.costs.relocation));
    RETURN_IF_ERROR(TakeNumber(*costs, "pods_s", job.costs.pods));
    RETURN_IF_ERROR(TakeNumber(*costs, "crash_s", job.costs.crash));
  }
  if (const Json* objective = Field(json, "objective")) RETURN_IF_ERROR(TakeObjective(*objective, job.objective));
  RETURN_IF_ERROR(TakeNumber(json, "window_s", job.window_seconds));
  if (const Json* mode = Field(json, "mode")) {
    const std::string name = mode->is_string() ? mode->get<std::string>() : "";
    if (name != "async" && name != "bsp" && name != "ssp")
      return Bad("mode must be async, ssp or bsp; found " + Shown(*mode));
    job.mode = name == "bsp" ? SyncMode::Bsp() : SyncMode::Async();
  }
  if (const Json* current = Field(json, "current")) {
    ASSIGN_OR_RETURN(job.space.current, SettingFromJson(*current, job.space.knobs));
  }
  if (const Json* seed = Field(json, "seed"); seed != nullptr && seed->is_number())
    job.seed = static_cast<uint64_t>(std::abs(seed->get<double>()));
  if (const Json* signature = Field(json, "signature"); signature != nullptr && signature->is_string())
    job.signature = signature->get<std::string>();
  return OkStatus();
}

}  // namespace

StatusOr<Setting> SettingFromJson(const Json& json, const std::vector<KnobRange>& knobs) {
  Setting setting;
  if (json.is_array() && json.size() == knobs.size()) {
    for (size_t k = 0; k < knobs.size(); ++k) {
      ASSIGN_OR_RETURN(const int value, KnobValue(json[k], knobs[k].name));
      setting.push_back(value);
    }
    return setting;
  }
  if (!json.is_object()) return Bad("a setting must be an object of knob values, found " + Shown(json));
  for (const KnobRange& knob : knobs) {
    const Json* value = Field(json, knob.name.c_str());
    if (value == nullptr) return Bad("the setting " + Shown(json) + " has no value for knob " + knob.name);
    ASSIGN_OR_RETURN(const int number, KnobValue(*value, knob.name));
    setting.push_back(number);
  }
  return setting;
}

StatusOr<JobDescription> JobFromJson(const Json& json) {
  JobDescription job;
  RETURN_IF_ERROR(TakeParts(json, job));
  return job;
}

namespace {

Json ToJson(const Objective& objective) {
  Json json = Json::object();
  for (const auto& [name, kind] : kObjectives) {
    if (kind == objective.kind) json["kind"] = name;
  }
  if (std::isfinite(objective.budget)) json["budget"] = objective.budget;
  for (const auto& [knob, price] : objective.prices) json["prices"][knob] = price;
  return json;
}

}  // namespace

Json ToJson(const JobDescription& job) {
  Json knobs = Json::object(), limits = Json::array();
  for (const KnobRange& knob : job.space.knobs) {
    knobs[knob.name] = {{"low", knob.low}, {"high", knob.high}};
    if (knob.cost) knobs[knob.name]["cost"] = Name(*knob.cost);
  }
  for (const Limit& limit : job.space.limits) {
    Json terms = Json::array();
    for (const Limit::Term& term : limit.terms)
      terms.push_back({{"knobs", term.knobs}, {"coefficient", term.coefficient}});
    limits.push_back({{"terms", std::move(terms)}, {"most", limit.most}, {"what", limit.what}});
  }
  Json space = {{"knobs", std::move(knobs)}, {"limits", std::move(limits)}};
  if (!job.space.allowed.empty()) space["allowed"] = job.space.allowed;
  Json goal = {{"steps_per_epoch", job.goal.steps_per_epoch}};
  for (const auto& [name, kind] : kGoals) {
    if (kind == job.goal.kind) goal["kind"] = name;
  }
  if (job.goal.metric_falls) goal["better"] = "lower";
  const auto add_finite = [&](const char* name, double value) {
    if (std::isfinite(value)) goal[name] = value;
  };
  add_finite("target", job.goal.target);
  add_finite("max_steps", job.goal.max_steps);
  add_finite("max_seconds", job.goal.max_seconds);
  Json json = {{"space", std::move(space)},
               {"goal", std::move(goal)},
               {"costs",
                {{"live_s", job.costs.live},
                 {"relocation_s", job.costs.relocation},
                 {"pods_s", job.costs.pods},
                 {"crash_s", job.costs.crash}}},
               {"window_s", job.window_seconds},
               {"mode", job.mode == SyncMode::Bsp() ? "bsp" : "async"},
               {"seed", job.seed},
               {"signature", job.signature}};
  if (job.objective.kind != ObjectiveKind::kTime || !job.objective.prices.empty())
    json["objective"] = ToJson(job.objective);
  if (job.space.current) json["current"] = *job.space.current;
  return json;
}

StatusOr<Report> ReportFromJson(const Json& json, const SearchSpace& space) {
  Report report;
  const Json* setting = Field(json, "setting");
  if (setting == nullptr) return Bad("the report has no setting");
  ASSIGN_OR_RETURN(report.setting, SettingFromJson(*setting, space.description().knobs));
  if (const Json* ok = Field(json, "ok")) {
    if (!ok->is_boolean()) return Bad("ok must be true or false, found " + Shown(*ok));
    report.ok = ok->get<bool>();
  }
  if (const Json* changing = Field(json, "during_change")) {
    if (!changing->is_boolean()) return Bad("during_change must be true or false, found " + Shown(*changing));
    report.during_change = changing->get<bool>();
  }
  if (Field(json, "time") == nullptr) return Bad("the report has no time");
  if (report.ok && (Field(json, "seconds") == nullptr || Field(json, "steps") == nullptr))
    return Bad("the report needs seconds and steps");
  RETURN_IF_ERROR(TakeNumber(json, "time", report.time));
  RETURN_IF_ERROR(TakeNumber(json, "seconds", report.seconds));
  RETURN_IF_ERROR(TakeNumber(json, "steps", report.steps));
  RETURN_IF_ERROR(TakeOptional(json, "loss_mean", report.loss_mean));
  RETURN_IF_ERROR(TakeOptional(json, "metric", report.metric));
  RETURN_IF_ERROR(TakeOptional(json, "staleness", report.staleness));
  RETURN_IF_ERROR(TakeOptional(json, "server_memory", report.server_memory));
  RETURN_IF_ERROR(TakeOptional(json, "worker_memory", report.worker_memory));
  RETURN_IF_ERROR(TakeOptional(json, "worker_throttled", report.worker_throttled));
  RETURN_IF_ERROR(TakeOptional(json, "worker_cpu", report.worker_cpu));
  RETURN_IF_ERROR(TakeOptional(json, "server_throttled", report.server_throttled));
  RETURN_IF_ERROR(TakeOptional(json, "server_cpu", report.server_cpu));
  RETURN_IF_ERROR(TakeOptional(json, "worker_compute", report.worker_compute));
  RETURN_IF_ERROR(TakeOptional(json, "server_busy", report.server_busy));
  return report;
}

Json ToJson(const Setting& setting, const SearchSpace& space) {
  Json json = Json::object();
  for (int k = 0; k < space.knob_count(); ++k) json[space.knob_name(k)] = setting[static_cast<size_t>(k)];
  return json;
}

Json ToJson(const Decision& decision, const SearchSpace& space) {
  Json remaining = nullptr;
  if (decision.remaining && std::isfinite(decision.remaining->high))
    remaining = {
        {"low", decision.remaining->low}, {"mid", decision.remaining->mid}, {"high", decision.remaining->high}};
  constexpr const char* kOutlooks[] = {"estimated", "too_early", "unknown", "unreachable"};
  return {{"type", "decision"},
          {"setting", ToJson(decision.setting, space)},
          {"seconds", decision.seconds},
          {"kind", Name(decision.kind)},
          {"why", decision.why},
          {"remaining", std::move(remaining)},
          {"outlook", kOutlooks[static_cast<size_t>(decision.outlook)]}};
}

}  // namespace attune::tuner
