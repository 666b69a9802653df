#include "operator/api/status/chosen_settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "operator/api/field_binding.h"

namespace attune::api {
namespace {

enum class Form { kCount, kAmount, kMode };

// A field that can be chosen.
struct Choosable {
  const char* path;  // below spec
  const char* words;
  Form form;
  const char* knob;  // of spec.tuning, by which a user keeps it as the spec says; "": none
};
constexpr std::array<Choosable, 8> kChoosable = {{
    {"servers/replicas", "servers", Form::kCount, "servers"},
    {"workers/replicas", "workers", Form::kCount, "workers"},
    {"workers/threads", "threads", Form::kCount, "threads"},
    {"synchronization", "synchronization", Form::kMode, "slack"},
    {"workers/resources/cpu/target", "cpu of workers", Form::kAmount, "workerCpu"},
    {"servers/resources/cpu/target", "cpu of servers", Form::kAmount, "serverCpu"},
    {"workers/resources/memory/target", "memory of workers", Form::kAmount, ""},
    {"servers/resources/memory/target", "memory of servers", Form::kAmount, ""},
}};

Json::json_pointer PointerOf(const Choosable& field) { return Json::json_pointer("/spec/" + std::string(field.path)); }

// "spec.workers.replicas".
std::string NameOf(const Choosable& field) {
  std::string name = "spec." + std::string(field.path);
  std::ranges::replace(name, '/', '.');
  return name;
}

const Choosable* FindChoosable(std::string_view name) {
  const auto found = std::ranges::find_if(kChoosable, [&](const Choosable& field) { return NameOf(field) == name; });
  return found == kChoosable.end() ? nullptr : &*found;
}

// Members that are null say that they are absent.
Json WithoutNulls(Json value) {
  if (!value.is_object()) return value;
  for (auto at = value.begin(); at != value.end();) at = at->is_null() ? value.erase(at) : std::next(at);
  return value;
}

// A string as it is, everything else as JSON; "" for nothing.
std::string TextOf(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : WithoutNulls(value).dump();
}

// Nothing for a text that is none of this form: whatever stands in a status, the spec is parsed with it.
std::optional<Json> ValueOf(const Choosable& field, const std::string& text) {
  switch (field.form) {
    case Form::kAmount:
      return text.empty() ? std::nullopt : std::optional<Json>(text);
    case Form::kCount: {
      int32_t count = 0;
      const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
      if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
      return count;
    }
    case Form::kMode: {
      Json mode = Json::parse(text, nullptr, /*allow_exceptions=*/false);
      return mode.is_object() ? std::optional<Json>(std::move(mode)) : std::nullopt;
    }
  }
  return std::nullopt;
}

bool IsPinned(const Json& job, const Choosable& field) {
  const Json::json_pointer at("/spec/tuning/" + std::string(field.knob) + "/pinned");
  return field.knob[0] != '\0' && job.contains(at) && !job.at(at).is_null();
}

const Json& Stated(const Json& job, const Choosable& field) {
  static const Json kNothing;
  const Json::json_pointer at = PointerOf(field);
  return job.contains(at) ? job.at(at) : kNothing;
}

Json Written(Json job, const ChosenSetting& choice) {
  job.merge_patch({{"spec", SpecPatchOf({choice})}});
  return job;
}

// "workers 4 instead of 2".
std::string Words(const Choosable& field, const ChosenSetting& choice) {
  const auto shown = [&](const std::string& text) {
    if (text.empty()) return std::string("what its pods begin with");
    if (field.form != Form::kMode) return text;
    const Json mode = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!mode.is_object()) return text;
    const auto staleness = mode.find("staleness");
    const bool bounded = staleness != mode.end() && staleness->is_number_integer();
    return TextAt(mode, "mode") + (bounded ? ":" + staleness->dump() : "");
  };
  return std::string(field.words) + " " + shown(choice.value) + " instead of " + shown(choice.instead);
}

}  // namespace

std::vector<ChosenSetting> ChosenInForce(const Json& job) {
  const Json::json_pointer kSettings("/status/settings");
  if (!job.is_object() || !job.contains(kSettings)) return {};
  std::vector<ChosenSetting> chosen = ReadChosenSettings(job.at(kSettings));
  std::erase_if(chosen, [&](const ChosenSetting& choice) {
    const Choosable* field = FindChoosable(choice.field);
    if (field == nullptr || !ValueOf(*field, choice.value) || IsPinned(job, *field)) return true;
    const std::string stated = TextOf(Stated(job, *field));
    return stated != choice.instead || stated == choice.value;
  });
  return chosen;
}

std::vector<ChosenSetting> ChosenAfter(const Json& job, const Json& spec) {
  std::map<std::string, ChosenSetting> by_field;
  for (ChosenSetting& choice : ParseInForce(job).job.chosen) by_field[choice.field] = std::move(choice);
  const Json patch = {{"spec", spec}};
  for (const Choosable& field : kChoosable) {
    if (!patch.contains(PointerOf(field))) continue;
    const std::string name = NameOf(field), value = TextOf(patch.at(PointerOf(field)));
    const std::string stated = TextOf(Stated(job, field));
    if (value == stated) {
      by_field.erase(name);
    } else {
      by_field[name] = {.field = name, .value = value, .instead = stated};
    }
  }
  std::vector<ChosenSetting> chosen;
  chosen.reserve(by_field.size());
  for (auto& [name, choice] : by_field) chosen.push_back(std::move(choice));
  return chosen;
}

Json SpecPatchOf(const std::vector<ChosenSetting>& chosen) {
  Json patch = Json::object();
  for (const ChosenSetting& choice : chosen) {
    const Choosable* field = FindChoosable(choice.field);
    const auto value = field == nullptr ? std::nullopt : ValueOf(*field, choice.value);
    if (!value) continue;
    Json& place = patch[PointerOf(*field)] = *value;
    // A merge patch keeps members that it does not name.
    if (field->form == Form::kMode && !place.contains("staleness")) place["staleness"] = nullptr;
  }
  return patch.value("spec", Json::object());
}

ParsedJob ParseInForce(const Json& job) {
  const std::vector<ChosenSetting> chosen = ChosenInForce(job);
  if (chosen.empty()) return ParseTrainingJob(job);
  Json written = job;
  for (const ChosenSetting& choice : chosen) written = Written(std::move(written), choice);
  ParsedJob parsed = ParseTrainingJob(written);
  if (parsed.problems.empty()) {
    parsed.job.chosen = chosen;
    return parsed;
  }
  // One by one, to see which of them the spec permits.
  parsed = ParseTrainingJob(job);
  if (!parsed.problems.empty()) return parsed;  // the spec is at fault itself
  written = job;
  std::vector<ChosenSetting> counted;
  for (const ChosenSetting& choice : chosen) {
    Json with = Written(written, choice);
    ParsedJob next = ParseTrainingJob(with);
    if (!next.problems.empty()) continue;
    parsed = std::move(next);
    written = std::move(with);
    counted.push_back(choice);
  }
  parsed.job.chosen = std::move(counted);
  return parsed;
}

Json ToJson(const std::vector<ChosenSetting>& chosen) {
  Json list = Json::array();
  for (const ChosenSetting& choice : chosen) {
    Json& each = list.emplace_back(Json{{"field", choice.field}, {"value", choice.value}});
    if (!choice.instead.empty()) each["instead"] = choice.instead;
  }
  return list;
}

std::vector<ChosenSetting> ReadChosenSettings(const Json& list) {
  std::vector<ChosenSetting> chosen;
  if (!list.is_array()) return chosen;
  for (const Json& each : list) {
    if (!each.is_object()) continue;
    chosen.push_back(
        {.field = TextAt(each, "field"), .value = TextAt(each, "value"), .instead = TextAt(each, "instead")});
  }
  return chosen;
}

std::string ToString(const std::vector<ChosenSetting>& chosen) {
  std::string text;
  for (const ChosenSetting& choice : chosen) {
    const Choosable* field = FindChoosable(choice.field);
    if (field != nullptr) text += (text.empty() ? "" : ", ") + Words(*field, choice);
  }
  return text;
}

// Written by a manager of its own, which owns nothing else: what this one writes has no settings.
void Binding<std::vector<ChosenSetting>>::Set(std::vector<ChosenSetting>& target, const Json& value) {
  target = ReadChosenSettings(value);
}
Json Binding<std::vector<ChosenSetting>>::Get(const std::vector<ChosenSetting>&) { return {}; }

}  // namespace attune::api
