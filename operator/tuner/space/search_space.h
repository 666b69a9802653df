// The settings a job may take: canonical integer vectors, enumerated once. Everything else in this room names a setting
// by its index here. A value: copy freely, no threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/tuner/space/knob.h"

namespace attune::tuner {

using Setting = std::vector<int>;  // one value per knob of the space, in the order of its knobs

inline constexpr int kKnobsMax = 8;
inline constexpr int kSettingsMax = 1024;   // enumerated; wider ranges are thinned to levels, evenly in log2
inline constexpr int kAllowedMax = 65'536;  // listed by a caller, before thinning
inline constexpr int kKnobValueMax = 1 << 24;

struct KnobRange {
  std::string name;
  int low = 1, high = 1;          // both included
  std::optional<CostClass> cost;  // of an unknown knob; a knob of Attune brings its own
};

// sum of coefficient * product of knobs <= most, e.g. workers * threads + servers <= 32.
struct Limit {
  struct Term {
    double coefficient = 1;
    std::vector<std::string> knobs;
  };
  std::vector<Term> terms;
  double most = 0;
  std::string what;  // for messages: "quota of 32 cores"
};

struct SpaceDescription {
  std::vector<KnobRange> knobs;
  std::vector<Setting> allowed;  // empty: everything within the ranges
  std::vector<Limit> limits;
  std::optional<Setting> current;  // where the job stands; kept in the space even where it could not be proposed
};

// "servers=2 workers=8 slack=bsp".
std::string SettingText(const Setting& setting, const std::vector<std::string>& knobs);

class SearchSpace {
 public:
  // InvalidArgument names every contradiction: an empty range, an unknown knob in a limit, nothing left.
  static StatusOr<SearchSpace> Create(SpaceDescription description);

  int size() const { return static_cast<int>(settings_.size()); }
  int knob_count() const { return static_cast<int>(description_.knobs.size()); }
  const Setting& setting(int id) const { return settings_[static_cast<size_t>(id)]; }
  bool MayPropose(int id) const { return id != unlisted_; }
  std::optional<int> Find(const Setting& setting) const;  // exact
  int Nearest(const Setting& setting) const;              // in octaves, among settings that may be proposed
  // Octaves: log2 of the value, -1 for 0.
  double Coordinate(int id, int knob) const;
  // Position of a knob's value in its range, 0..1 in octaves; 0.5 for a knob with a single value.
  double Position(int id, int knob) const;

  const SpaceDescription& description() const { return description_; }
  const std::string& knob_name(int knob) const { return description_.knobs[static_cast<size_t>(knob)].name; }
  CostClass cost(int knob) const;
  // The values of a knob that occur, rising.
  const std::vector<int>& levels(int knob) const { return levels_[static_cast<size_t>(knob)]; }
  std::optional<int> KnobIndex(std::string_view name) const;
  // Value of a knob by name; `otherwise` when the space has no such knob.
  int Value(int id, std::string_view name, int otherwise) const;
  bool thinned() const { return thinned_; }

  // As SettingText.
  std::string Text(int id) const;
  std::string Text(const Setting& setting) const;

 private:
  SpaceDescription description_;
  std::vector<Setting> settings_;         // sorted
  std::vector<std::vector<int>> levels_;  // of each knob
  int unlisted_ = -1;                     // the current setting when it is outside
  bool thinned_ = false;
};

}  // namespace attune::tuner
