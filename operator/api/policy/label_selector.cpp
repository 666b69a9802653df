#include "operator/api/policy/label_selector.h"

#include <algorithm>

namespace attune::api {
namespace {

using Operator = LabelExpression::Operator;

// matchLabels are expressions of one value.
std::vector<LabelExpression> PartsOf(const LabelSelector& selector) {
  std::vector<LabelExpression> parts;
  parts.reserve(selector.match_labels.size() + selector.match_expressions.size());
  for (const auto& [name, value] : selector.match_labels) parts.push_back({name, Operator::kIn, {value}});
  parts.insert(parts.end(), selector.match_expressions.begin(), selector.match_expressions.end());
  return parts;
}

bool Holds(const LabelExpression& part, const Labels& labels) {
  const auto at = labels.find(part.key);
  const bool there = at != labels.end();
  const bool listed = there && std::ranges::find(part.values, at->second) != part.values.end();
  switch (part.op) {
    case Operator::kIn:
      return listed;
    case Operator::kNotIn:
      return !listed;
    case Operator::kExists:
      return there;
    case Operator::kDoesNotExist:
      return !there;
  }
  return false;
}

std::string ToString(const LabelExpression& part) {
  if (part.op == Operator::kExists) return part.key;
  if (part.op == Operator::kDoesNotExist) return "!" + part.key;
  if (part.op == Operator::kIn && part.values.size() == 1) return part.key + "=" + part.values.front();
  std::string values;
  for (const std::string& value : part.values) values += (values.empty() ? "" : ",") + value;
  return part.key + (part.op == Operator::kIn ? " in (" : " notin (") + values + ")";
}

}  // namespace

bool Matches(const LabelSelector& selector, const Labels& labels) {
  return std::ranges::all_of(PartsOf(selector), [&](const LabelExpression& part) { return Holds(part, labels); });
}

std::optional<std::string> FirstMismatch(const LabelSelector& selector, const Labels& labels) {
  for (const LabelExpression& part : PartsOf(selector)) {
    if (Holds(part, labels)) continue;
    const auto at = labels.find(part.key);
    const std::string found =
        at == labels.end() ? "has no label " + part.key : "has label " + part.key + "=" + at->second;
    return found + "; asked for is " + ToString(part);
  }
  return std::nullopt;
}

std::string ToString(const LabelSelector& selector) {
  std::string text;
  for (const LabelExpression& part : PartsOf(selector)) text += (text.empty() ? "" : ",") + ToString(part);
  return text;
}

}  // namespace attune::api
