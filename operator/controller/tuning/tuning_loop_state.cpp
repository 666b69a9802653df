// What the tuner's loop leaves for the next operator, and how another operator takes it up.
#include <nlohmann/json.hpp>
#include <utility>

#include "operator/controller/observe/text.h"
#include "operator/controller/tuning/tuning_loop.h"
#include "operator/tuner/records/record_json.h"

namespace attune::controller {
namespace {

using kube::Json;

constexpr int kStateVersion = 1;

// What is saved knows a stage for each state of a job at work.
enum class SavedStage { kLearning, kMoving, kStaying, kDone };

Json ToJson(const std::optional<int32_t>& value) { return value ? Json(*value) : Json(); }
Json ToJson(const JobSetting& setting) {
  return Json::array({setting.servers, setting.workers, ToJson(setting.threads), ToJson(setting.slack),
                      ToJson(setting.worker_millicores), ToJson(setting.server_millicores)});
}
JobSetting SettingFromJson(const Json& json) {
  const auto optional = [&](size_t i) {  // an operator before this one knew the first two
    return json.size() > i && json[i].is_number_integer() ? json[i].get<int32_t>() : std::optional<int32_t>();
  };
  return {.servers = json.at(0).get<int32_t>(),
          .workers = json.at(1).get<int32_t>(),
          .threads = optional(2),
          .slack = optional(3),
          .worker_millicores = optional(4),
          .server_millicores = optional(5)};
}

// The newest `count`.
Json SaveStory(const std::vector<tuner::NamedRecord>& story, size_t count) {
  Json json = Json::array();
  for (size_t i = story.size() - std::min(count, story.size()); i < story.size(); ++i)
    json.push_back(Json(tuner::ToJson(story[i])));
  return json;
}

// [[812.5, true, false], ...]: when, a trial, crashed.
Json SavePast(const std::vector<PastChange>& past) {
  Json json = Json::array();
  for (const PastChange& each : past) json.push_back(Json::array({each.time, each.trial, each.crashed}));
  return json;
}
std::vector<PastChange> LoadPast(const Json& json) {
  std::vector<PastChange> past;
  for (const Json& each : json.is_array() ? json : Json::array())
    past.push_back({each.at(0).get<double>(), each.at(1).get<bool>(), each.at(2).get<bool>()});
  return past;
}

// What cannot be read is passed over: it is reported, nothing is decided from it.
std::vector<tuner::NamedRecord> LoadStory(const Json& json) {
  std::vector<tuner::NamedRecord> story;
  for (const Json& record : json.is_array() ? json : Json::array()) {
    auto named = tuner::RecordFromJson(nlohmann::ordered_json(record));
    if (named.ok()) story.push_back(*std::move(named));
  }
  return story;
}

}  // namespace

std::string TuningLoop::Save() const {
  const JobCourse::Kept& course = course_.kept();
  const KnobsInForce::Kept knobs = knobs_.kept();
  const SavedStage stage = stage_ == Stage::kLearning ? SavedStage::kLearning
                           : stage_ == Stage::kDone   ? SavedStage::kDone
                           : course.moving            ? SavedStage::kMoving
                                                      : SavedStage::kStaying;
  Json json = {{"version", kStateVersion},
               {"space", knobs.key},
               {"stage", static_cast<int>(stage)},
               {"time", clock_.now()},
               {"here", ToJson(course.here)},
               {"from", ToJson(course.from)},
               {"threads_max", knobs.threads_max},
               {"ordered_generation", course.ordered_generation},
               {"moving_since", course.moving_since},
               {"stay_until", stay_.until()},
               {"stay_seconds", stay_.seconds()},
               {"trial", course.trial},
               {"failures", course.failures},
               {"changes", course.changes},
               {"told", earlier_.reported()},
               {"numbered", earlier_.decided()},
               {"spent", earlier_.spent()},
               {"past", SavePast(past_)},
               {"refused", policy_refusals_},
               {"findings", parts_.findings()},
               {"acts", parts_.acts()},
               {"ceiling", ToJson(knobs.ceiling)},
               {"message", shown_.message()}};
  const auto text = [&] { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  // Old stories are given up before what was learned.
  for (size_t records = PastTuners::kStoryMax; records > 0; records /= 2) {
    const size_t of_tuner = tuner_ ? std::min(records, tuner_->records().size()) : 0;
    json["story"] = SaveStory(earlier_.story(), records - of_tuner);
    if (tuner_) json["tuner"] = tuner_->Save(of_tuner);
    if (std::string with = text(); with.size() <= kStateBytesMax) return with;
  }
  json.erase("story");
  json.erase("tuner");  // a new operator would learn again
  return text();
}

void TuningLoop::Remember() {
  state_ = Save();
  Describe();
}

double TuningLoop::TimeOf(const std::string& saved) {
  const Json json = Json::parse(saved, nullptr, /*allow_exceptions=*/false);
  const Json& time = kube::At(json, {"time"});
  return time.is_number() ? time.get<double>() : -1;
}

std::vector<tuner::NamedRecord> TuningLoop::StoryOf(const std::string& saved) {
  const Json json = Json::parse(saved, nullptr, /*allow_exceptions=*/false);
  std::vector<tuner::NamedRecord> story = LoadStory(kube::At(json, {"story"}));
  const Json& space = kube::At(json, {"space"});
  if (space.is_string() && !KnobsInForce::AreTried(space.get<std::string>())) return story;
  const Json& numbered = kube::At(json, {"numbered"});
  const uint64_t before = numbered.is_number_unsigned() ? numbered.get<uint64_t>() : 0;
  const Json tuner = Json::parse(TunerStateOf(saved), nullptr, /*allow_exceptions=*/false);
  for (tuner::NamedRecord& named : LoadStory(kube::At(tuner, {"records"}))) {
    named.record.number += before;
    story.push_back(std::move(named));
  }
  return story;
}

std::string TuningLoop::TunerStateOf(const std::string& saved) {
  const Json json = Json::parse(saved, nullptr, /*allow_exceptions=*/false);
  const Json& state = kube::At(json, {"tuner"});
  return state.is_string() ? state.get<std::string>() : "";
}

std::vector<std::string> TuningLoop::FindingsOf(const std::string& saved) {
  const Json json = Json::parse(saved, nullptr, /*allow_exceptions=*/false);
  const Json& findings = kube::At(json, {"findings"});
  return findings.is_string() ? controller::FindingsOf(findings.get<std::string>()) : std::vector<std::string>();
}

void TuningLoop::Restore(tuner::PriorCache& priors) {
  if (saved_.empty()) return;
  const std::string text = std::move(saved_);
  saved_.clear();
  if (text.size() > kStateBytesMax) return;
  try {
    const Json json = Json::parse(text);
    if (json.at("version") != kStateVersion) return;
    const int number = json.at("stage").get<int>();
    if (number < 0 || number > static_cast<int>(SavedStage::kDone)) return;
    const auto stage = static_cast<SavedStage>(number);
    TuningLoop read;
    read.stage_ = stage == SavedStage::kLearning ? Stage::kLearning
                  : stage == SavedStage::kDone   ? Stage::kDone
                                                 : Stage::kAtWork;
    read.clock_ = JobClock(json.at("time").get<double>());
    read.course_.Load({.here = SettingFromJson(json.at("here")),
                       .from = SettingFromJson(json.at("from")),
                       .moving = stage == SavedStage::kMoving,
                       .trial = json.at("trial").get<bool>(),
                       .ordered_generation = json.at("ordered_generation").get<int64_t>(),
                       .moving_since = json.at("moving_since").get<double>(),
                       .failures = json.at("failures").get<int32_t>(),
                       .changes = json.at("changes").get<uint64_t>()});
    read.stay_.Load(json.at("stay_until").get<double>(), json.at("stay_seconds").get<double>());
    read.shown_.Say(json.at("message").get<std::string>());
    read.parts_.Load(json.value("findings", "[]"), json.value("acts", "[]"));
    const JobSetting ceiling = json.contains("ceiling") ? SettingFromJson(json.at("ceiling")) : JobSetting();
    read.knobs_.Load(
        {.key = json.at("space").get<std::string>(), .threads_max = json.value("threads_max", 0), .ceiling = ceiling},
        stage != SavedStage::kMoving);
    read.earlier_.Load({.story = LoadStory(kube::At(json, {"story"})),
                        .spent = json.value("spent", 0.0),
                        .decided = json.value("numbered", uint64_t{0}),
                        .reported = json.at("told").get<uint64_t>()});
    read.past_ = LoadPast(kube::At(json, {"past"}));
    read.policy_refusals_ = json.value("refused", uint64_t{0});
    if (json.contains("tuner")) {
      auto tuner = tuner::Tuner::Load(json.at("tuner").get<std::string>(), priors);
      if (!tuner.ok()) return;
      read.tuner_ = *std::move(tuner);
    } else if (read.stage_ != Stage::kDone) {
      read.stage_ = Stage::kLearning;
    }
    read.earlier_.SetHistory(earlier_.history());
    read.state_ = text;
    *this = std::move(read);
    Describe();
  } catch (const Json::exception&) {
    // Another writer wrote into it: learn again.
  }
}

}  // namespace attune::controller
