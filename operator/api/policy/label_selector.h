// Selectors by labels, in the words of Kubernetes: whether one holds, and if not which part of it does not. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attune::api {

using Labels = std::map<std::string, std::string>;

// One of spec.selector.*.matchExpressions.
struct LabelExpression {
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist };
  std::string key;
  Operator op = Operator::kIn;
  std::vector<std::string> values;
  friend bool operator==(const LabelExpression&, const LabelExpression&) = default;
};

// All parts must hold; without any it selects everything.
struct LabelSelector {
  Labels match_labels;
  std::vector<LabelExpression> match_expressions;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};
bool Matches(const LabelSelector& selector, const Labels& labels);

// The first part that does not hold, to stand behind a subject: "has label tier=prod; asked for is tier=research".
// Nothing when all hold.
std::optional<std::string> FirstMismatch(const LabelSelector& selector, const Labels& labels);

// As `kubectl get -l` takes it: "tier=research,team in (a,b),!spot"; "" when it selects everything.
std::string ToString(const LabelSelector& selector);

}  // namespace attune::api
