#include "operator/tuner/space/enumeration.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace attune::tuner {

double Octave(int value) { return value >= 1 ? std::log2(static_cast<double>(value)) : -1.0; }

bool IsWithinLimits(const SpaceDescription& description, const Setting& setting) {
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

namespace {

bool HasFactor(const KnobRange& knob) {
  const KnobRecord* record = FindKnob(knob.name);
  return record != nullptr && record->level_factor > 1;
}

// From one end to the other, each about `factor` above the one before.
std::vector<int> LevelsByFactor(const KnobRange& knob, double factor) {
  const double octaves = std::log2(std::max(knob.high, 1) / static_cast<double>(std::max(knob.low, 1)));
  const auto steps = std::max(1, static_cast<int>(std::lround(octaves / std::log2(factor))));
  std::vector<int> levels{knob.low};
  for (int i = 1; i <= steps; ++i) {
    const double value = std::max(knob.low, 1) * std::exp2(octaves * i / steps);
    const int level = i == steps ? knob.high : static_cast<int>(std::lround(value));
    if (level > levels.back()) levels.push_back(level);
  }
  return levels;
}

// Of a knob that is tried at certain values only; empty: at any.
std::vector<int> RecordedLevels(const KnobRange& knob) {
  const KnobRecord* record = FindKnob(knob.name);
  if (record != nullptr && record->level_factor > 1) return LevelsByFactor(knob, record->level_factor);
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
  if (std::vector<int> recorded = RecordedLevels(knob); !recorded.empty()) {
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

// Where a job stands is a level, in the place of the nearest one between the ends: otherwise every other knob could be
// turned only together with this one.
void TakeAsLevel(std::vector<int>& levels, int value) {
  if (levels.size() < 3 || std::find(levels.begin(), levels.end(), value) != levels.end()) return;
  if (value < levels.front() || value > levels.back()) return;
  const auto distance = [value](int level) { return std::abs(Octave(level) - Octave(value)); };
  *std::min_element(levels.begin() + 1, levels.end() - 1, [&](int a, int b) { return distance(a) < distance(b); }) =
      value;
}

std::vector<int> LevelsOf(const SpaceDescription& description, size_t k, int64_t count) {
  std::vector<int> values = Levels(description.knobs[k], count);
  if (HasFactor(description.knobs[k]) && description.current && description.current->size() == description.knobs.size())
    TakeAsLevel(values, (*description.current)[k]);
  return values;
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
    if (IsWithinLimits(description, setting)) settings.push_back(std::move(setting));
    size_t k = levels.size();
    while (k > 0 && ++at[k - 1] == levels[k - 1].size()) at[--k] = 0;
    if (k == 0) return settings;
  }
}

// One more than what fits in of each limit of a pod, together with other knobs.
class Staggering {
 public:
  explicit Staggering(const SpaceDescription& description) : description_(description) {
    for (size_t k = 0; k < description.knobs.size(); ++k) {
      const KnobRange& knob = description.knobs[k];
      (HasFactor(knob) ? limits_ : others_).push_back(k);
    }
  }
  bool MakesSense() const { return !limits_.empty() && !others_.empty(); }

  std::vector<Setting> Settings() {
    MakeLevels();
    std::vector<Setting> settings;
    std::vector<std::vector<int>> lowest(levels_);
    for (const size_t k : limits_) lowest[k].resize(1);
    const std::vector<Setting> combinations = Combinations(description_, lowest);
    if (combinations.empty()) return settings;
    const size_t budget = kSettingsMax / combinations.size();
    for (size_t i = 0; i < combinations.size(); ++i) AddLimits(combinations[i], i, budget, settings);
    std::sort(settings.begin(), settings.end());
    settings.erase(std::unique(settings.begin(), settings.end()), settings.end());
    return settings;
  }

 private:
  static constexpr int64_t kLimitsMax = 512;  // combinations of limits that are looked at

  void MakeLevels() {
    levels_.resize(description_.knobs.size());
    std::vector<int64_t> counts(levels_.size(), 256);
    const auto fill = [&](size_t k) { levels_[k] = LevelsOf(description_, k, counts[k]); };
    for (size_t k = 0; k < levels_.size(); ++k) fill(k);
    // Room for some levels of every limit, and for what limits on sums leave.
    constexpr int64_t kRoomFor[] = {8, 12, 16, 32};
    const int64_t most = kSettingsMax / kRoomFor[std::min<size_t>(limits_.size(), 4) - 1];
    const auto thin = [&](const std::vector<size_t>& knobs, int64_t until) {
      const auto product = [&] {
        int64_t all = 1;
        for (const size_t k : knobs) all *= static_cast<int64_t>(levels_[k].size());
        return all;
      };
      while (product() > until) {
        const size_t widest = *std::max_element(
            knobs.begin(), knobs.end(), [&](size_t a, size_t b) { return levels_[a].size() < levels_[b].size(); });
        counts[widest] = std::max<int64_t>(1, static_cast<int64_t>(levels_[widest].size()) * 4 / 5);
        fill(widest);
      }
    };
    thin(others_, most);
    thin(limits_, kLimitsMax);
  }

  // Of one combination of the other knobs: limits that none can be raised of, and a grid whose levels between the ends
  // differ from its neighbors', so that all levels occur.
  void AddLimits(const Setting& combination, size_t number, size_t budget, std::vector<Setting>& settings) const {
    std::vector<Setting> most = Maximal(combination);
    const size_t kept = std::min(most.size(), budget / 2);
    for (size_t i = 0; i < kept; ++i) settings.push_back(most[kept > 1 ? i * (most.size() - 1) / (kept - 1) : 0]);
    const auto per_knob = static_cast<size_t>(
        std::pow(static_cast<double>(budget - kept), 1.0 / static_cast<double>(limits_.size())) + 1e-9);
    std::vector<std::vector<int>> levels;
    for (const int value : combination) levels.push_back({value});
    for (const size_t k : limits_) levels[k] = Some(k, std::max<size_t>(2, per_knob), number);
    for (Setting& setting : Combinations(description_, levels)) settings.push_back(std::move(setting));
  }

  std::vector<Setting> Maximal(const Setting& combination) const {
    std::vector<std::vector<int>> levels;
    for (const int value : combination) levels.push_back({value});
    for (const size_t k : limits_) levels[k] = levels_[k];
    std::vector<Setting> maximal;
    for (Setting& setting : Combinations(description_, levels)) {
      const bool can_be_raised = std::any_of(limits_.begin(), limits_.end(), [&](size_t k) {
        const auto next = std::upper_bound(levels_[k].begin(), levels_[k].end(), setting[k]);
        if (next == levels_[k].end()) return false;
        Setting raised = setting;
        raised[k] = *next;
        return IsWithinLimits(description_, raised);
      });
      if (!can_be_raised) maximal.push_back(std::move(setting));
    }
    return maximal;
  }

  // The ends, where the job stands rather than the lower one, and of the levels between those that `number` chooses.
  std::vector<int> Some(size_t knob, size_t count, size_t number) const {
    const std::vector<int>& all = levels_[knob];
    if (all.size() <= count) return all;
    std::set<int> some = {all.back()};
    if (description_.current && description_.current->size() == description_.knobs.size()) {
      const int current = (*description_.current)[knob];
      if (std::binary_search(all.begin(), all.end(), current)) some.insert(current);
    }
    if (some.size() < count) some.insert(all.front());
    constexpr size_t kStride = 5;  // neighbors in workers are not neighbors in levels
    const size_t between = all.size() - 2, more = count - some.size();
    for (size_t i = 0; some.size() < count && i < between; ++i) {
      const size_t spread = more > 0 ? i * between / more : i;
      some.insert(all[1 + (number * kStride + knob + spread + (i >= more ? i : 0)) % between]);
    }
    return {some.begin(), some.end()};
  }

  const SpaceDescription& description_;
  std::vector<size_t> limits_, others_;  // positions of knobs
  std::vector<std::vector<int>> levels_;
};

}  // namespace

Enumeration Enumerate(const SpaceDescription& description) {
  bool thinned = false;
  std::vector<int64_t> counts;
  std::vector<std::vector<int>> levels;
  for (const KnobRange& knob : description.knobs) {
    counts.push_back(std::min<int64_t>(static_cast<int64_t>(knob.high) - knob.low + 1, 256));
    levels.push_back(LevelsOf(description, counts.size() - 1, counts.back()));
    thinned |= RecordedLevels(knob).empty() && counts.back() < static_cast<int64_t>(knob.high) - knob.low + 1;
  }
  while (true) {
    // Limits often remove most of the box: they are tried before more levels are taken away.
    if (Product(levels) <= 64LL * kSettingsMax) {
      std::vector<Setting> settings = Combinations(description, levels);
      if (settings.size() <= kSettingsMax) return {std::move(settings), thinned};
    }
    if (Staggering staggering(description); staggering.MakesSense()) return {staggering.Settings(), true};
    const auto widest = std::max_element(levels.begin(), levels.end(),
                                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const auto k = static_cast<size_t>(widest - levels.begin());
    counts[k] = std::max<int64_t>(1, static_cast<int64_t>(widest->size()) * 4 / 5);
    levels[k] = LevelsOf(description, k, counts[k]);
    thinned = true;
  }
}

}  // namespace attune::tuner
