#include "operator/tuner/ask_tell.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "operator/tuner/job_json.h"
#include "operator/tuner/records/record_json.h"

namespace attune::tuner {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string ErrorLine(uint64_t line, std::string_view message) {
  return Dump({{"type", "error"}, {"line", line}, {"message", message}});
}

constexpr int kDepthMax = 32;

// JSON has no NaN and no Infinity, but many programs write them: outside of strings they become strings, which numbers
// accept. Nothing is returned for nesting no honest line needs.
std::optional<std::string> Readable(std::string_view line) {
  std::string text;
  text.reserve(line.size() + 16);
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string) {
      if (c == '\\' && i + 1 < line.size()) {
        text += c;
        text += line[++i];
        continue;
      }
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDepthMax) return std::nullopt;
    } else if (c == '}' || c == ']') {
      --depth;
    } else {
      bool replaced = false;
      for (const std::string_view word : {"NaN", "-Infinity", "Infinity"}) {
        if (line.substr(i, word.size()) != word) continue;
        text += '"' + std::string(word) + '"';
        i += word.size() - 1;
        replaced = true;
        break;
      }
      if (replaced) continue;
    }
    text += c;
  }
  return text;
}

bool Blank(std::string_view line) { return line.find_first_not_of(" \t\r\n") == std::string_view::npos; }

Json BeliefJson(const SettingBelief& belief, const SearchSpace& space) {
  return {{"setting", ToJson(belief.setting, space)},
          {"seconds_per_update", belief.seconds_per_update},
          {"gain", {{"mean", belief.gain.mean}, {"deviation", belief.gain.deviation}}},
          {"efficiency", belief.efficiency},
          {"crash_probability", belief.crash_probability},
          {"windows", belief.windows},
          {"price_per_hour", belief.price_per_hour},
          {"relative_time", belief.relative_time},
          {"relative_cost", belief.relative_cost}};
}

Json ExplainJson(const Tuner& tuner) {
  constexpr size_t kShown = 10;
  Json records = Json::array(), beliefs = Json::array(), pareto = Json::array();
  for (const DecisionRecord& record : tuner.records()) records.push_back(ToJson(record, tuner.space()));
  for (const SettingBelief& belief : tuner.Beliefs(kShown)) beliefs.push_back(BeliefJson(belief, tuner.space()));
  for (const SettingBelief& belief : tuner.Tradeoffs(kShown)) pareto.push_back(BeliefJson(belief, tuner.space()));
  return {{"type", "explanation"},
          {"decisions", std::move(records)},
          {"model", std::move(beliefs)},
          {"pareto", std::move(pareto)}};
}

}  // namespace

std::optional<std::string> AskTell::Handle(std::string_view line) {
  ++lines_;
  if (Blank(line)) return std::nullopt;
  const auto error = [&](std::string_view message) { return ErrorLine(lines_, message); };
  if (line.size() > kLineBytesMax)
    return error("the line has more than " + std::to_string(kLineBytesMax) + " bytes and was not read");
  const auto text = Readable(line);
  if (!text) return error("the line is nested deeper than " + std::to_string(kDepthMax) + " levels and was not read");
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return error("this is not a JSON object on one line");
  if (!json.is_object()) return error("a line must be a JSON object with a \"type\"");
  const auto type_field = json.find("type");
  const std::string type = type_field != json.end() && type_field->is_string() ? type_field->get<std::string>() : "";
  if (type == "start") {
    auto job = JobFromJson(json);
    if (!job.ok()) return error(Message(job.status()));
    job->history = history_;
    auto made = Tuner::Create(*std::move(job), priors_);
    if (!made.ok()) return error(Message(made.status()));
    if (tuner_) history_.Add(tuner_->Summary());
    tuner_ = *std::move(made);
    return std::nullopt;
  }
  if (type == "load") {
    const auto state = json.find("state");
    if (state == json.end() || !state->is_string()) return error("load needs the state as text, as save gave it");
    auto loaded = Tuner::Load(state->get<std::string>(), priors_);
    if (!loaded.ok()) return error(Message(loaded.status()));
    tuner_ = *std::move(loaded);
    return std::nullopt;
  }
  if (type != "report" && type != "ask" && type != "end" && type != "explain" && type != "save")
    return error("type must be start, report, ask, explain, save, load or end; found \"" + type.substr(0, 40) + "\"");
  if (!tuner_) return type == "end" ? std::nullopt : std::optional(error("there is no job yet; send a start first"));
  if (type == "end") {
    history_.Add(tuner_->Summary());
    tuner_.reset();
    return std::nullopt;
  }
  if (type == "explain") return Dump(ExplainJson(*tuner_));
  if (type == "save") return Dump({{"type", "state"}, {"state", tuner_->Save()}});
  if (type == "report") {
    const auto report = ReportFromJson(json, tuner_->space());
    if (!report.ok()) return error(Message(report.status()));
    // A report that cannot be true is no malformed line: who asks next must not find another answer waiting. The next
    // decision says how many were ignored, and why the last one was.
    const Status taken = tuner_->Absorb(*report);
    if (!taken.ok()) ignored_ = std::string(Message(taken));
    return std::nullopt;
  }
  const auto time = json.find("time");
  if (time == json.end() || !time->is_number()) return error("ask needs the time in seconds");
  const auto current = json.find("current");
  if (current == json.end()) return error("ask needs the current setting");
  const auto setting = SettingFromJson(*current, tuner_->space().description().knobs);
  if (!setting.ok()) return error(Message(setting.status()));
  Json answer = ToJson(tuner_->Decide(time->get<double>(), *setting), tuner_->space());
  if (!ignored_.empty()) {
    answer["ignored_reports"] = tuner_->rejected_reports();
    answer["last_ignored"] = std::exchange(ignored_, "");
  }
  return Dump(answer);
}

}  // namespace attune::tuner
