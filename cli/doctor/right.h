// Rights on a cluster: what is asked for, as a review that the API server answers, and what its answers mean. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "operator/kube/object.h"

namespace attune::cli {

inline const kube::ResourceType kSelfReviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews",
                                             "SelfSubjectAccessReview", false};
inline const kube::ResourceType kReviews{"authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview",
                                         false};

struct Right {
  std::string verb, group, resource;  // resource: "pods", "pods/log"
  std::string name_space;             // "": of all namespaces, or of none
  bool needed = true;                 // else only some commands do
};

// "create trainingjobs".
std::string ToString(const Right& right);
// `user`: "" for the caller's own (kSelfReviews), else of that user (kReviews).
kube::Json ReviewOf(const Right& right, const std::string& user);
// Whether the answered review says yes; Unavailable when it says that it could not be decided.
StatusOr<bool> IsAllowed(const kube::Json& review);

// What commands of `attune` do in a namespace.
std::vector<Right> RightsOfAUser(const std::string& name_space);
// What the operator does, in one namespace or ("") in all; as charts/attune gives it, queues of Kueue apart.
struct OperatorDuties {
  std::string name_space;
  bool reviews_tokens = true;     // else it proves sidecars by published keys
  bool network_policies = false;  // it makes one for each job
};
std::vector<Right> RightsOfAnOperator(const OperatorDuties& duties);

// A right, and what became of asking for it.
struct AskedRight {
  Right right;
  StatusOr<bool> allowed;
};

}  // namespace attune::cli
