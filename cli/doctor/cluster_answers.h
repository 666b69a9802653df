// What a cluster answered to the questions of `attune doctor`, and what is to be said of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "cli/doctor/finding.h"
#include "cli/doctor/right.h"
#include "operator/kube/api.h"

namespace attune::cli {

using JsonList = std::vector<kube::Json>;

inline const kube::ResourceType kDeployments{"apps", "v1", "deployments", "Deployment"};
inline const kube::ResourceType kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                             "CustomResourceDefinition", false};
inline const kube::ResourceType kStorageClasses{"storage.k8s.io", "v1", "storageclasses", "StorageClass", false};
inline constexpr char kOperatorSelector[] = "app.kubernetes.io/name=attune";

// An operator as its Deployment says it should be.
struct OperatorShape {
  std::string name, name_space, version, service_account, image, server_image, sidecar_image, lease;
  int64_t wanted = 0, ready = 0;
  bool elects = false;
  OperatorDuties duties;

  kube::ObjectKey key() const { return {name_space, name}; }
};
OperatorShape ShapeOf(const kube::Json& deployment);

// Of one operator.
struct OperatorAnswers {
  OperatorShape shape;
  StatusOr<JsonList> pods;
  StatusOr<kube::Json> lease;
  StatusOr<std::string> metrics;  // page of one of its pods
  std::vector<AskedRight> rights;
};

// As they came; the error of a call is its answer. Of a cluster whose version could not be asked nothing else is.
struct ClusterAnswers {
  std::string where;          // "the cluster of context kind (https://...)"
  std::string kubectl;        // "kubectl --context kind", for what is to be done
  std::string version;        // of this program
  std::string name_space;     // that commands use
  double now = 0;             // seconds since 1970, by this machine's clock
  double answer_seconds = 0;  // that the question for the server's time took
  StatusOr<kube::Json> kubernetes;
  StatusOr<int64_t> server_time;
  StatusOr<kube::Json> core_kinds, attune_kinds;            // as discovery lists them
  std::map<std::string, StatusOr<kube::Json>> definitions;  // by plural
  std::vector<AskedRight> rights;                           // of the user
  StatusOr<JsonList> deployments;
  std::vector<OperatorAnswers> operators;  // of those deployments
  StatusOr<JsonList> storage_classes, nodes, pods, jobs;
};

// Every topic leads to a finding, also where nothing could be seen. Pure.
Findings JudgeCluster(const ClusterAnswers& answers);

// Asks, `each` call for at most that long and all together for at most `all`: what is left then is an error that says
// so. Changes nothing.
struct AskingTime {
  Duration each = std::chrono::seconds(5), all = std::chrono::seconds(45);
};
ClusterAnswers AskCluster(kube::Api& api, const std::string& name_space, const TimeSource& time,
                          const AskingTime& limits = {});

// --- The topics, each in a file of its own.

Findings JudgeApiServer(const ClusterAnswers& answers);  // version, clock, kinds, the user's rights
Findings JudgeOperators(const ClusterAnswers& answers);
Findings JudgeRoom(const ClusterAnswers& answers);  // nodes, storage, images, jobs that are not heard

// What is said of what could not be looked at.
Finding NotSeen(const std::string& subject, const Status& why);

}  // namespace attune::cli
