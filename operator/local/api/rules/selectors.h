// Label and field selectors in Kubernetes' text form, parsed once and matched often. Values; no I/O.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "operator/kube/object.h"

namespace attune::local {

// "app=a,tier in (x,y),zone notin (z),!gone,present". The empty text matches everything.
class LabelSelector {
 public:
  static StatusOr<LabelSelector> Parse(std::string_view text);
  bool Matches(const kube::Json& object) const;
  bool empty() const { return requirements_.empty(); }

 private:
  enum class Operator { kIn, kNotIn, kExists, kNotExists };
  struct Requirement {
    std::string label;
    Operator op;
    std::set<std::string, std::less<>> values;
  };
  static StatusOr<Requirement> ParseRequirement(std::string_view text);
  std::vector<Requirement> requirements_;
};

// "metadata.name=x,status.phase!=Running": any dotted path of strings, as the embedded API has no index to protect.
class FieldSelector {
 public:
  static StatusOr<FieldSelector> Parse(std::string_view text);
  bool Matches(const kube::Json& object) const;

 private:
  struct Requirement {
    std::vector<std::string> path;
    bool equal;
    std::string value;
  };
  std::vector<Requirement> requirements_;
};

struct Selection {
  LabelSelector labels;
  FieldSelector fields;
  std::string name_space;  // "" = all

  static StatusOr<Selection> Parse(const std::string& name_space, std::string_view labels, std::string_view fields);
  bool Matches(const kube::Json& object) const;
};

}  // namespace attune::local
