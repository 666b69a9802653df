#include "operator/api/training_job.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "operator/api/field_binding.h"
#include "operator/api/fields.h"
#include "operator/api/format.h"
#include "operator/api/job_metadata.h"
#include "operator/api/pod_template.h"

namespace attune::api {
namespace {

// Whole numbers may be written 3 or 3.0; JSON makes no difference.
std::optional<int64_t> WholeNumber(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (std::trunc(number) == number && std::abs(number) < 9e15) return static_cast<int64_t>(number);
  }
  return std::nullopt;
}

bool FitsPattern(const Field& field, const std::string& text) {
  if (field.length_max > 0 && text.size() > static_cast<size_t>(field.length_max)) return false;
  return !field.fits || field.fits(text);
}

class JobParser {
 public:
  JobParser(TrainingJob& job, std::vector<FieldProblem>& problems) : job_(job), problems_(problems) {}

  void Members(const Field& object, const Json& value) {
    const auto& children = ChildrenOf(object.path);
    for (const auto& member : value.items()) {
      const auto named = [&](const Field* child) { return child->name() == member.key(); };
      if (std::none_of(children.begin(), children.end(), named)) Unknown(object, children, member.key());
    }
    for (const Field* child : children) {
      const auto at = value.find(child->name());
      if (at != value.end()) {
        Value(*child, *at);
      } else if (child->required) {
        Problem(*child, "nothing");
      } else if (!child->default_value.is_null()) {
        Value(*child, child->default_value);
      }
    }
  }

 private:
  void Problem(const Field& field, std::string found) {
    problems_.push_back({field.path, std::move(found), AllowedText(field)});
  }

  void Unknown(const Field& object, const std::vector<const Field*>& children, const std::string& name) {
    std::vector<std::string> names;
    std::string all;
    for (const Field* child : children) {
      names.emplace_back(child->name());
      all += (all.empty() ? "" : ", ") + names.back();
    }
    std::string allowed = all;
    if (const auto nearest = NearestName(name, names)) {
      allowed = *nearest + " (nearest); all: " + all;
    } else {
      std::string elsewhere;
      for (const Field& field : Fields()) {
        if (field.name() == name && field.path.starts_with("spec."))
          elsewhere += (elsewhere.empty() ? "" : " or ") + field.path;
      }
      if (!elsewhere.empty()) allowed = "the field at " + elsewhere + "; here: " + all;
    }
    problems_.push_back(NameProblem(object.path + "." + name, "an unknown field", allowed));
  }

  void Value(const Field& field, const Json& value) {
    switch (field.type) {
      case FieldType::kObject:
        return value.is_object() ? Members(field, value) : Problem(field, FoundText(value));
      case FieldType::kString:
        if (!value.is_string() || !FitsPattern(field, value.get_ref<const std::string&>())) {
          return Problem(field, FoundText(value));
        }
        return field.set(job_, value);
      case FieldType::kInteger:
        return Integer(field, value);
      case FieldType::kQuantity:
        return Quantity(field, value);
      case FieldType::kNumber:
        return value.is_number() && std::isfinite(value.get<double>()) ? field.set(job_, value)
                                                                       : Problem(field, FoundText(value));
      case FieldType::kBoolean:
        return value.is_boolean() ? field.set(job_, value) : Problem(field, FoundText(value));
      case FieldType::kChoice:
        return Choice(field, value);
      case FieldType::kPodTemplate:
        if (!value.is_object()) return Problem(field, FoundText(value));
        CheckPodTemplate(value, field.path, field.parent() == "spec.workers" ? "worker" : "server", problems_);
        return field.set(job_, value);
      case FieldType::kMetrics:
        return value.is_object() ? field.set(job_, value) : Problem(field, FoundText(value));
      case FieldType::kFailureRules: {
        const size_t before = problems_.size();
        CheckFailureRules(value, field.path, problems_);
        return problems_.size() == before ? field.set(job_, value) : void();
      }
      case FieldType::kNumbers:
      case FieldType::kConditions:
      case FieldType::kMetricList:
      case FieldType::kDecisionList:
      case FieldType::kSettingList:
      case FieldType::kLossList:
      case FieldType::kTableList:
      case FieldType::kRowTraceList:
        return value.is_array() ? field.set(job_, value) : Problem(field, FoundText(value));
    }
  }

  void Integer(const Field& field, const Json& value) {
    const std::optional<int64_t> number = WholeNumber(value);
    const int64_t minimum = field.minimum.value_or(0);
    if (!number || *number < minimum || (field.maximum && *number > *field.maximum)) {
      return Problem(field, FoundText(value));
    }
    field.set(job_, *number);
  }

  // A whole number means what its digits mean as a string.
  void Quantity(const Field& field, const Json& value) {
    const Json text = value.is_number_integer() ? Json(value.dump()) : value;
    if (!text.is_string() || !FitsPattern(field, text.get_ref<const std::string&>())) {
      return Problem(field, FoundText(value));
    }
    field.set(job_, text);
  }

  void Choice(const Field& field, const Json& value) {
    const auto is = [&](const std::string& choice) { return value == choice; };
    if (std::any_of(field.choices.begin(), field.choices.end(), is)) return field.set(job_, value);
    std::string allowed = AllowedText(field);
    if (std::any_of(field.later.begin(), field.later.end(), is)) {
      allowed += "; the other modes of the design come with a later version";
    } else if (value.is_string()) {
      const auto nearest = NearestName(value.get_ref<const std::string&>(), field.choices);
      if (nearest && field.choices.size() > 1) allowed = *nearest + " (nearest); all: " + allowed;
    }
    problems_.push_back({field.path, FoundText(value), allowed});
  }

  TrainingJob& job_;
  std::vector<FieldProblem>& problems_;
};

// Whether `problem` is about something the rule reads; a misspelled name counts as the one it probably means.
bool Silences(const FieldProblem& problem, const FieldRule& rule) {
  if (problem.path == rule.path) return true;
  return std::any_of(rule.reads.begin(), rule.reads.end(), [&](const std::string& name) {
    return problem.path == rule.path + "." + name || (problem.about_key && problem.path.starts_with(rule.path + ".") &&
                                                      problem.allowed.starts_with(name + " (nearest)"));
  });
}

Json MembersToJson(std::string_view path, const TrainingJob& job) {
  Json object = Json::object();
  for (const Field* field : ChildrenOf(path)) {
    if (field->present && !field->present(job)) continue;
    Json value = field->type == FieldType::kObject ? MembersToJson(field->path, job) : field->get(job);
    const bool empty_text = value.is_string() && value.get_ref<const std::string&>().empty();
    if (value.is_null() || (field->omit_empty && empty_text)) continue;
    object[std::string(field->name())] = std::move(value);
  }
  return object;
}

void AddDefaults(const Field& object, Json& value) {
  if (!value.is_object()) return;
  for (const Field* child : ChildrenOf(object.path)) {
    const std::string name(child->name());
    if (!value.contains(name) && !child->default_value.is_null()) value[name] = child->default_value;
    if (child->type == FieldType::kObject && value.contains(name)) AddDefaults(*child, value[name]);
  }
}

}  // namespace

ParsedJob ParseTrainingJob(const Json& object) {
  ParsedJob parsed;
  auto& [job, problems] = parsed;
  if (!object.is_object()) {
    problems.push_back(
        {"(document)", FoundText(object), "a TrainingJob: a mapping with apiVersion, kind, metadata, spec"});
    return parsed;
  }
  if (!CheckKind(object, problems)) return parsed;
  static const std::vector<std::string> kTop = {"apiVersion", "kind", "metadata", "spec", "status"};
  for (const auto& [name, value] : object.items()) {
    if (std::find(kTop.begin(), kTop.end(), name) != kTop.end()) continue;
    const auto nearest = NearestName(name, kTop);
    std::string allowed = "apiVersion, kind, metadata, spec";
    if (nearest) allowed = *nearest + " (nearest); all: " + allowed;
    problems.push_back(NameProblem(name, "an unknown field", allowed));
  }
  const auto metadata = object.find("metadata");
  if (metadata != object.end() && metadata->is_object()) {
    ParseMetadata(*metadata, job, problems);
  } else {
    problems.push_back(
        {"metadata", metadata == object.end() ? "nothing" : FoundText(*metadata), "a mapping with name"});
  }
  const auto spec = object.find("spec");
  if (spec != object.end() && spec->is_object()) {
    JobParser(job, problems).Members(*FindField("spec"), *spec);
    // A rule speaks only where the single fields are right; otherwise it would judge defaults the user did not write.
    for (const FieldRule& rule : Rules()) {
      const bool fields_right = std::none_of(problems.begin(), problems.end(),
                                             [&](const FieldProblem& problem) { return Silences(problem, rule); });
      if (rule.check && fields_right) rule.check(job, problems);
    }
  } else {
    problems.push_back({"spec", spec == object.end() ? "nothing" : FoundText(*spec), AllowedText(*FindField("spec"))});
  }
  if (const auto status = object.find("status"); status != object.end() && status->is_object()) {
    std::vector<FieldProblem> ignored;
    JobParser(job, ignored).Members(*FindField("status"), *status);
  }
  return parsed;
}

Json WithDefaults(Json object) {
  if (object.is_object() && object.contains("spec")) AddDefaults(*FindField("spec"), object["spec"]);
  return object;
}

Json ToJson(const TrainingJobSpec& spec) {
  TrainingJob job;
  job.spec = spec;
  return MembersToJson("spec", job);
}

Json ToJson(const TrainingJobStatus& status) {
  TrainingJob job;
  job.status = status;
  return MembersToJson("status", job);
}

Display MakeDisplay(const TrainingJobStatus& status) {
  Display display;
  const auto role = [](const RoleStatus& counts) {
    return std::to_string(counts.ready) + "/" + std::to_string(counts.replicas);
  };
  display.servers = role(status.servers);
  display.workers = role(status.workers);
  const bool ended = IsTrue(status, kSucceeded) || IsTrue(status, kFailed);
  if (!status.progress) return display;
  display.progress = FormatPercent(status.progress->fraction);
  if (status.progress->loss) display.loss = FormatFigure(*status.progress->loss);
  if (status.progress->rate) display.rate = FormatRate(*status.progress->rate, status.progress->sample_unit);
  if (status.progress->remaining_seconds && !ended)
    display.remaining = FormatSeconds(*status.progress->remaining_seconds);
  return display;
}

std::string CheckpointName(const CheckpointStatus& checkpoint) {
  if (checkpoint.number == 0) return "checkpoint " + checkpoint.directory;  // of servers that do not say it
  return "checkpoint " + std::to_string(checkpoint.number) + " in " + checkpoint.directory;
}

std::string ToString(const BestCheckpointStatus& best) {
  const MetricPlace place{.step = best.step, .epoch = best.epoch};
  return "checkpoint " + std::to_string(best.number) + " in " + best.directory + ", " + best.metric + " " +
         FormatFigure(best.value) + " " + ToString(place);
}

SyncMode FromManifest(const Synchronization& synchronization) {
  switch (synchronization.mode) {
    case Synchronization::Mode::kAsync:
      return SyncMode::Async();
    case Synchronization::Mode::kBsp:
      return SyncMode::Bsp();
    case Synchronization::Mode::kSsp:
      return SyncMode::Ssp(
          static_cast<uint32_t>(std::clamp<int64_t>(synchronization.staleness.value_or(1), 1, kSlackMax)));
  }
  return SyncMode::Async();
}

Synchronization ToManifest(SyncMode mode) {
  using Mode = Synchronization::Mode;
  if (!mode.bounded()) return {Mode::kAsync, std::nullopt};
  return *mode.slack == 0 ? Synchronization{Mode::kBsp, std::nullopt} : Synchronization{Mode::kSsp, *mode.slack};
}

Json SynchronizationFields(SyncMode mode) {
  const Synchronization written = ToManifest(mode);
  Json patch = {{"mode", Names(written.mode).at(static_cast<size_t>(written.mode))}, {"staleness", nullptr}};
  if (written.staleness) patch["staleness"] = *written.staleness;
  return patch;
}

const char* ToString(Transport transport) { return transport == Transport::kEncrypted ? "Encrypted" : "Authenticated"; }

std::string ToString(ServerPlacement rule) { return Names(rule).at(static_cast<size_t>(rule)); }
std::string ToString(WorkerPlacement rule) { return Names(rule).at(static_cast<size_t>(rule)); }

const char* ToString(TuningMode mode) {
  switch (mode) {
    case TuningMode::kOff:
      return "Off";
    case TuningMode::kRecommend:
      return "Recommend";
    case TuningMode::kInitial:
      return "Initial";
    case TuningMode::kInPlaceOnly:
      return "InPlaceOnly";
    case TuningMode::kAuto:
      return "Auto";
  }
  return "";
}

namespace {

// A path is as long as the names in a manifest, up to a hundred of them: its begin and its end say where it is.
std::string Bounded(const std::string& path) {
  constexpr size_t kPathMax = 200, kEnd = 60;
  if (path.size() <= kPathMax) return path;
  const auto is_within = [&](size_t at) { return (static_cast<unsigned char>(path[at]) & 0xC0) == 0x80; };
  size_t begin_ends = kPathMax - kEnd, end_begins = path.size() - kEnd;
  while (is_within(begin_ends)) --begin_ends;
  while (end_begins < path.size() && is_within(end_begins)) ++end_begins;
  return path.substr(0, begin_ends) + " ... " + path.substr(end_begins);
}

}  // namespace

std::string ToString(const FieldProblem& problem, const std::string& file) {
  std::string text;
  if (!file.empty()) text += file + ":";
  if (problem.line > 0) text += std::to_string(problem.line) + ":" + std::to_string(problem.column) + ":";
  if (!text.empty()) text += " ";
  return text + Bounded(problem.path) + ": found " + problem.found + "; allowed: " + problem.allowed;
}

const Condition* FindCondition(const TrainingJobStatus& status, std::string_view type) {
  for (const Condition& condition : status.conditions) {
    if (condition.type == type) return &condition;
  }
  return nullptr;
}

bool IsTrue(const TrainingJobStatus& status, std::string_view type) {
  const Condition* condition = FindCondition(status, type);
  return condition != nullptr && condition->status == "True";
}

}  // namespace attune::api
