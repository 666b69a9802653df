#include "operator/controller/objects/placement_preference.h"

namespace attune::controller {
namespace {

using kube::Json;

constexpr int kWeight = 100;  // the most there is: a template's own preferences do not outweigh what was asked for

// By the machine's name, not by its label kubernetes.io/hostname, which may differ.
Json Term(const char* relation, const std::string& node) {
  Json field = {{"key", "metadata.name"}, {"operator", relation}, {"values", Json::array({node})}};
  return {{"weight", kWeight}, {"preference", {{"matchFields", Json::array({std::move(field)})}}}};
}

}  // namespace

void AddPreference(Json& pod, const PlacementPreference& preference) {
  if (preference.to.empty() && preference.away_from.empty()) return;
  Json& terms = pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"];
  if (!terms.is_array()) terms = Json::array();
  if (!preference.to.empty()) terms.push_back(Term("In", preference.to));
  if (!preference.away_from.empty()) terms.push_back(Term("NotIn", preference.away_from));
}

}  // namespace attune::controller
