#include "operator/tuner/space/search_space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "operator/tuner/space/enumeration.h"

namespace attune::tuner {
namespace {

Status CheckRanges(const SpaceDescription& description) {
  if (description.knobs.empty())
    return Error(StatusCode::kInvalidArgument, "the search space has no knobs; name at least one with its range");
  if (description.knobs.size() > kKnobsMax)
    return Error(StatusCode::kInvalidArgument, "the search space has " + std::to_string(description.knobs.size()) +
                                                   " knobs; at most " + std::to_string(kKnobsMax) + " can be searched");
  std::set<std::string> names;
  std::string problems;
  for (const KnobRange& knob : description.knobs) {
    if (!names.insert(knob.name).second) problems += "; knob " + knob.name + " is named twice";
    if (knob.low > knob.high)
      problems += "; knob " + knob.name + ": range [" + std::to_string(knob.low) + ", " + std::to_string(knob.high) +
                  "] is empty, its first value must not exceed the second";
    if (knob.low < 0 || knob.high > kKnobValueMax)
      problems += "; knob " + knob.name + ": values must lie in 0.." + std::to_string(kKnobValueMax);
  }
  for (const Limit& limit : description.limits) {
    for (const Limit::Term& term : limit.terms) {
      for (const std::string& name : term.knobs) {
        if (!names.contains(name))
          problems += "; limit \"" + limit.what + "\" names " + name + ", which is no knob here";
      }
    }
  }
  if (problems.empty()) return OkStatus();
  return Error(StatusCode::kInvalidArgument, "the search space contradicts itself: " + problems.substr(2));
}

}  // namespace

StatusOr<SearchSpace> SearchSpace::Create(SpaceDescription description) {
  RETURN_IF_ERROR(CheckRanges(description));
  SearchSpace space;
  if (description.allowed.empty()) {
    Enumeration all = Enumerate(description);
    space.settings_ = std::move(all.settings);
    space.thinned_ = all.thinned;
  } else {
    if (description.allowed.size() > kAllowedMax)
      return Error(StatusCode::kResourceExhausted,
                   "the list of allowed settings has " + std::to_string(description.allowed.size()) +
                       " entries; at most " + std::to_string(kAllowedMax) + " are taken");
    for (const Setting& setting : description.allowed) {
      bool inside = setting.size() == description.knobs.size();
      for (size_t k = 0; inside && k < setting.size(); ++k)
        inside = setting[k] >= description.knobs[k].low && setting[k] <= description.knobs[k].high;
      if (inside && IsWithinLimits(description, setting)) space.settings_.push_back(setting);
    }
  }
  std::vector<Setting>& settings = space.settings_;
  std::sort(settings.begin(), settings.end());
  settings.erase(std::unique(settings.begin(), settings.end()), settings.end());
  if (settings.empty())
    return Error(StatusCode::kInvalidArgument,
                 "no setting is left after ranges, allowed list and limits; widen one of them");
  if (settings.size() > kSettingsMax) {  // a long allowed list: every n-th, which keeps all regions
    std::vector<Setting> kept;
    for (size_t i = 0; i < kSettingsMax; ++i) kept.push_back(settings[i * settings.size() / kSettingsMax]);
    settings = std::move(kept);
    space.thinned_ = true;
  }
  const auto& current = description.current;
  if (current && current->size() == description.knobs.size() &&
      !std::binary_search(settings.begin(), settings.end(), *current)) {
    const auto place = settings.insert(std::lower_bound(settings.begin(), settings.end(), *current), *current);
    const KnobRange* knob = description.knobs.data();
    const bool in_ranges = std::all_of(current->begin(), current->end(), [&knob](int value) {
      const KnobRange& range = *knob++;
      return value >= range.low && value <= range.high;
    });
    // Only thinning left it out: it may be proposed like any other.
    const bool listed = description.allowed.empty() && in_ranges && IsWithinLimits(description, *current);
    if (!listed) space.unlisted_ = static_cast<int>(place - settings.begin());
  }
  for (size_t k = 0; k < description.knobs.size(); ++k) {
    std::set<int> values;
    for (const Setting& setting : settings) values.insert(setting[k]);
    space.levels_.emplace_back(values.begin(), values.end());
  }
  space.description_ = std::move(description);
  return space;
}

std::optional<int> SearchSpace::Find(const Setting& setting) const {
  const auto place = std::lower_bound(settings_.begin(), settings_.end(), setting);
  if (place == settings_.end() || *place != setting) return std::nullopt;
  return static_cast<int>(place - settings_.begin());
}

int SearchSpace::Nearest(const Setting& setting) const {
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int id = 0; id < size(); ++id) {
    if (!MayPropose(id)) continue;
    double distance = 0;
    for (size_t k = 0; k < setting.size(); ++k)
      distance += std::abs(Octave(setting[k]) - Octave(settings_[static_cast<size_t>(id)][k]));
    if (distance < least) {
      least = distance;
      best = id;
    }
  }
  return best;
}

double SearchSpace::Coordinate(int id, int knob) const { return Octave(setting(id)[static_cast<size_t>(knob)]); }

double SearchSpace::Position(int id, int knob) const {
  const KnobRange& range = description_.knobs[static_cast<size_t>(knob)];
  const double low = Octave(range.low), high = Octave(range.high);
  return high > low ? (Coordinate(id, knob) - low) / (high - low) : 0.5;
}

CostClass SearchSpace::cost(int knob) const {
  const KnobRange& range = description_.knobs[static_cast<size_t>(knob)];
  if (range.cost) return *range.cost;
  const KnobRecord* record = FindKnob(range.name);
  return record != nullptr ? record->cost : CostClass::kLive;
}

std::optional<int> SearchSpace::KnobIndex(std::string_view name) const {
  for (int k = 0; k < knob_count(); ++k) {
    if (knob_name(k) == name) return k;
  }
  return std::nullopt;
}

int SearchSpace::Value(int id, std::string_view name, int otherwise) const {
  const auto knob = KnobIndex(name);
  return knob ? setting(id)[static_cast<size_t>(*knob)] : otherwise;
}

std::string SearchSpace::Text(int id) const { return Text(setting(id)); }

std::string SearchSpace::Text(const Setting& setting) const {
  std::vector<std::string> knobs;
  knobs.reserve(static_cast<size_t>(knob_count()));
  for (int k = 0; k < knob_count(); ++k) knobs.push_back(knob_name(k));
  return SettingText(setting, knobs);
}

std::string SettingText(const Setting& setting, const std::vector<std::string>& knobs) {
  std::string text;
  for (size_t k = 0; k < knobs.size() && k < setting.size(); ++k) {
    if (k > 0) text += ' ';
    text += knobs[k] + "=" + ValueText(knobs[k], setting[k]);
  }
  return text;
}

}  // namespace attune::tuner
