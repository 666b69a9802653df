#include "operator/tuner/space/search_space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace attune::tuner {
namespace {

double Octave(int value) { return value >= 1 ? std::log2(static_cast<double>(value)) : -1.0; }

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

// Of a knob that is tried at certain values only; empty: at any.
std::vector<int> RecordedLevels(const KnobRange& knob) {
  const KnobRecord* record = FindKnob(knob.name);
  if (record == nullptr || record->levels.empty()) return {};
  std::vector<int> levels{knob.low};
  for (const int level : record->levels) {
    if (level > knob.low && level < knob.high) levels.push_back(level);
  }
  if (knob.high > knob.low) levels.push_back(knob.high);
  return levels;
}

// Values of a range: all of them, or `count` spread evenly in octaves, ends included.
std::vector<int> Levels(const KnobRange& knob, int64_t count) {
  if (const std::vector<int> recorded = RecordedLevels(knob); !recorded.empty()) {
    const auto all = static_cast<int64_t>(recorded.size());
    if (count >= all) return recorded;
    std::vector<int> some;
    for (int64_t i = 0; i < count; ++i)
      some.push_back(recorded[static_cast<size_t>(count > 1 ? i * (all - 1) / (count - 1) : 0)]);
    return some;
  }
  const int64_t all = static_cast<int64_t>(knob.high) - knob.low + 1;
  std::vector<int> levels;
  if (count >= all) {
    for (int value = knob.low; value <= knob.high; ++value) levels.push_back(value);
    return levels;
  }
  const double low = std::log2(knob.low + 1.0), high = std::log2(knob.high + 1.0);
  for (int64_t i = 0; i < count; ++i) {
    const double octave =
        count > 1 ? low + (high - low) * static_cast<double>(i) / static_cast<double>(count - 1) : low;
    const int value = std::clamp(static_cast<int>(std::lround(std::exp2(octave) - 1)), knob.low, knob.high);
    if (levels.empty() || value > levels.back()) levels.push_back(value);
  }
  return levels;
}

bool Within(const SpaceDescription& description, const Setting& setting) {
  for (const Limit& limit : description.limits) {
    double sum = 0;
    for (const Limit::Term& term : limit.terms) {
      double product = term.coefficient;
      for (const std::string& name : term.knobs) {
        for (size_t k = 0; k < description.knobs.size(); ++k) {
          if (description.knobs[k].name == name) product *= setting[k];
        }
      }
      sum += product;
    }
    if (sum > limit.most * (1 + 1e-12)) return false;
  }
  return true;
}

int64_t Product(const std::vector<std::vector<int>>& levels) {
  double product = 1;
  for (const auto& values : levels) product *= static_cast<double>(values.size());
  return static_cast<int64_t>(std::min(product, 1e15));
}

// All combinations of levels that respect the limits.
std::vector<Setting> Combinations(const SpaceDescription& description, const std::vector<std::vector<int>>& levels) {
  std::vector<Setting> settings;
  std::vector<size_t> at(levels.size(), 0);
  while (true) {
    Setting setting;
    for (size_t k = 0; k < levels.size(); ++k) setting.push_back(levels[k][at[k]]);
    if (Within(description, setting)) settings.push_back(std::move(setting));
    size_t k = levels.size();
    while (k > 0 && ++at[k - 1] == levels[k - 1].size()) at[--k] = 0;
    if (k == 0) return settings;
  }
}

std::vector<Setting> Enumerate(const SpaceDescription& description, bool& thinned) {
  std::vector<int64_t> counts;
  std::vector<std::vector<int>> levels;
  for (const KnobRange& knob : description.knobs) {
    counts.push_back(std::min<int64_t>(static_cast<int64_t>(knob.high) - knob.low + 1, 256));
    levels.push_back(Levels(knob, counts.back()));
    thinned |= RecordedLevels(knob).empty() && counts.back() < static_cast<int64_t>(knob.high) - knob.low + 1;
  }
  while (true) {
    // Limits often remove most of the box: they are tried before more levels are taken away.
    if (Product(levels) <= 64LL * kSettingsMax) {
      std::vector<Setting> settings = Combinations(description, levels);
      if (settings.size() <= kSettingsMax) return settings;
    }
    const auto widest = std::max_element(levels.begin(), levels.end(),
                                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const auto k = static_cast<size_t>(widest - levels.begin());
    counts[k] = std::max<int64_t>(1, static_cast<int64_t>(widest->size()) * 4 / 5);
    levels[k] = Levels(description.knobs[k], counts[k]);
    thinned = true;
  }
}

}  // namespace

StatusOr<SearchSpace> SearchSpace::Create(SpaceDescription description) {
  RETURN_IF_ERROR(CheckRanges(description));
  SearchSpace space;
  if (description.allowed.empty()) {
    space.settings_ = Enumerate(description, space.thinned_);
  } else {
    if (description.allowed.size() > kAllowedMax)
      return Error(StatusCode::kResourceExhausted,
                   "the list of allowed settings has " + std::to_string(description.allowed.size()) +
                       " entries; at most " + std::to_string(kAllowedMax) + " are taken");
    for (const Setting& setting : description.allowed) {
      bool inside = setting.size() == description.knobs.size();
      for (size_t k = 0; inside && k < setting.size(); ++k)
        inside = setting[k] >= description.knobs[k].low && setting[k] <= description.knobs[k].high;
      if (inside && Within(description, setting)) space.settings_.push_back(setting);
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
    const bool listed = description.allowed.empty() && in_ranges && Within(description, *current);
    if (!listed) space.unlisted_ = static_cast<int>(place - settings.begin());
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
