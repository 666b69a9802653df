#include "cli/doctor/right.h"

namespace attune::cli {
namespace {

constexpr char kAttune[] = "attune.dev";

void Add(std::vector<Right>& rights, const Right& like, std::initializer_list<const char*> verbs) {
  for (const char* verb : verbs) {
    rights.push_back(like);
    rights.back().verb = verb;
  }
}

Right Of(const std::string& group, const std::string& resource, const std::string& name_space, bool needed = true) {
  return {.verb = "", .group = group, .resource = resource, .name_space = name_space, .needed = needed};
}

}  // namespace

std::string ToString(const Right& right) { return right.verb + " " + right.resource; }

kube::Json ReviewOf(const Right& right, const std::string& user) {
  const size_t slash = right.resource.find('/');
  kube::Json attributes = {{"verb", right.verb}, {"group", right.group}, {"resource", right.resource.substr(0, slash)}};
  if (slash != std::string::npos) attributes["subresource"] = right.resource.substr(slash + 1);
  if (!right.name_space.empty()) attributes["namespace"] = right.name_space;
  const kube::ResourceType& type = user.empty() ? kSelfReviews : kReviews;
  kube::Json review = {{"apiVersion", type.api_version()}, {"kind", type.kind}};
  review["spec"]["resourceAttributes"] = attributes;
  if (user.empty()) return review;
  review["spec"]["user"] = user;
  // As the API server sees a service account: "system:serviceaccount:NAMESPACE:NAME".
  constexpr std::string_view kAccount = "system:serviceaccount:";
  if (user.starts_with(kAccount)) {
    const std::string name_space = user.substr(kAccount.size(), user.rfind(':') - kAccount.size());
    review["spec"]["groups"] = {"system:serviceaccounts", "system:serviceaccounts:" + name_space,
                                "system:authenticated"};
  }
  return review;
}

StatusOr<bool> IsAllowed(const kube::Json& review) {
  const kube::Json& status = kube::At(review, {"status"});
  if (status.is_object() && status.value("allowed", kube::Json(nullptr)).is_boolean()) {
    if (status["allowed"].get<bool>()) return true;
    const std::string error(kube::StringAt(status, {"evaluationError"}));
    // Some authorizers fail and another one denies: only a plain no is a no.
    if (error.empty() || status.value("denied", kube::Json(false)) == true) return false;
    return Error(StatusCode::kUnavailable, error);
  }
  return Error(StatusCode::kUnavailable, "the API server's answer to a review says neither yes nor no");
}

std::vector<Right> RightsOfAUser(const std::string& name_space) {
  std::vector<Right> rights;
  Add(rights, Of(kAttune, "trainingjobs", name_space), {"get", "list", "watch", "create", "patch", "delete"});
  Add(rights, Of("", "pods", name_space), {"list"});
  Add(rights, Of("", "pods/log", name_space, false), {"get"});
  Add(rights, Of("events.k8s.io", "events", name_space, false), {"list"});
  Add(rights, Of("", "configmaps", name_space, false), {"get"});
  Add(rights, Of("", "pods/proxy", name_space, false), {"get"});
  Add(rights, Of("", "pods", name_space, false), {"create", "get", "delete"});  // the reader of attune pull-model
  return rights;
}

std::vector<Right> RightsOfAnOperator(const OperatorDuties& duties) {
  const std::string& where = duties.name_space;
  std::vector<Right> rights;
  Add(rights, Of(kAttune, "trainingjobs", where), {"get", "list", "watch", "patch", "update", "delete"});
  Add(rights, Of(kAttune, "trainingjobs/status", where), {"get", "patch", "update"});
  Add(rights, Of(kAttune, "trainingjobs/finalizers", where), {"update"});
  Add(rights, Of(kAttune, "tuningpolicies", where), {"get", "list", "watch"});
  Add(rights, Of(kAttune, "tuningpolicies/status", where), {"patch"});
  Add(rights, Of("", "pods", where), {"get", "list", "watch", "create", "patch", "update", "delete"});
  Add(rights, Of("", "pods/log", where), {"get"});
  Add(rights, Of("", "pods/status", where), {"get"});
  Add(rights, Of("", "pods/resize", where), {"patch"});
  Add(rights, Of("", "services", where), {"get", "list", "watch", "create", "patch", "delete"});
  Add(rights, Of("", "configmaps", where), {"get", "create", "patch"});
  Add(rights, Of("", "secrets", where), {"create"});
  Add(rights, Of("policy", "poddisruptionbudgets", where), {"get", "list", "watch", "create", "patch", "delete"});
  Add(rights, Of("events.k8s.io", "events", where), {"create", "patch"});
  if (duties.network_policies) Add(rights, Of("networking.k8s.io", "networkpolicies", where), {"create"});
  if (duties.reviews_tokens) Add(rights, Of("authentication.k8s.io", "tokenreviews", ""), {"create"});
  return rights;
}

}  // namespace attune::cli
