// Kubernetes objects as this system handles them: JSON values with typed access to what all objects share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// Instantiated once, in json.cpp (attune::json): every file of the control plane uses it.
extern template class nlohmann::basic_json<>;

namespace attune::kube {

using Json = nlohmann::json;

// A kind of object and where its API lives. Constants for the kinds in use are below.
struct ResourceType {
  std::string group;    // "" for the core group
  std::string version;  // "v1"
  std::string plural;   // "pods"
  std::string kind;     // "Pod"
  bool namespaced = true;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  friend bool operator==(const ResourceType&, const ResourceType&) = default;
};

inline const ResourceType kPods{"", "v1", "pods", "Pod"};
inline const ResourceType kServices{"", "v1", "services", "Service"};
inline const ResourceType kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
inline const ResourceType kNodes{"", "v1", "nodes", "Node", false};
inline const ResourceType kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline const ResourceType kEvents{"events.k8s.io", "v1", "events", "Event"};
inline const ResourceType kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false};
inline const ResourceType kTrainingJobs{"attune.dev", "v1alpha1", "trainingjobs", "TrainingJob"};
inline const ResourceType kTuningPolicies{"attune.dev", "v1alpha1", "tuningpolicies", "TuningPolicy"};
inline const ResourceType kClusterTuningPolicies{"attune.dev", "v1alpha1", "clustertuningpolicies",
                                                 "ClusterTuningPolicy", false};

struct ObjectKey {
  std::string name_space;  // "" for cluster-scoped kinds
  std::string name;

  std::string ToString() const { return name_space.empty() ? name : name_space + "/" + name; }
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

// Absent fields read as "" / 0 / null; wrongly typed ones too: objects come from outside.
std::string_view Name(const Json& object);
std::string_view Namespace(const Json& object);
std::string_view Uid(const Json& object);
std::string_view ResourceVersion(const Json& object);
// As a number, which grows with every write on every server in use; 0 where it is none.
uint64_t VersionNumber(const Json& object);
int64_t Generation(const Json& object);
std::string_view Label(const Json& object, std::string_view label);
std::string_view Annotation(const Json& object, std::string_view annotation);
bool IsBeingDeleted(const Json& object);
// Of a bookmark: everything that a watch with initial events began with has been sent.
bool EndsInitialEvents(const Json& bookmark);
ObjectKey KeyOf(const Json& object);
// Walks fields: At(pod, {"status", "podIP"}); a null value when any is missing.
const Json& At(const Json& object, std::initializer_list<std::string_view> path);
std::string_view StringAt(const Json& object, std::initializer_list<std::string_view> path);
int64_t IntegerAt(const Json& object, std::initializer_list<std::string_view> path, int64_t otherwise = 0);

// Who wrote which field is of use to the API server alone.
void DropManagedFields(Json& object);

}  // namespace attune::kube
