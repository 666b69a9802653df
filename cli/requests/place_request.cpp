#include "cli/requests/place_request.h"

#include "cli/requests/bad_request.h"

namespace attune::cli {
namespace {

template <class Rule>
void AddChange(const char* role, Rule before, const std::optional<Rule>& wanted, std::string& text) {
  if (!wanted) return;
  if (!text.empty()) text += ", ";
  const std::string name = api::ToString(*wanted);
  text += std::string(role) + (before == *wanted ? " stay " + name : " " + api::ToString(before) + " -> " + name);
}

}  // namespace

Status CheckPlacement(const api::TrainingJob& job) { return CheckNotEnded(job, "place"); }

kube::Json PlacementPatch(const PlaceRequest& request) {
  kube::Json placement = kube::Json::object();
  if (request.servers) placement["servers"] = api::ToString(*request.servers);
  if (request.workers) placement["workers"] = api::ToString(*request.workers);
  return {{"spec", {{"placement", std::move(placement)}}}};
}

std::string PlacementChange(const api::Placement& before, const PlaceRequest& request) {
  std::string text;
  AddChange("servers", before.servers, request.servers, text);
  AddChange("workers", before.workers, request.workers, text);
  return text;
}

}  // namespace attune::cli
