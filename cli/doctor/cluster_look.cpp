#include <algorithm>
#include <utility>

#include "base/version.h"
#include "cli/doctor/cluster_answers.h"
#include "cli/runs/jobs.h"
#include "operator/leadership/election/lease_record.h"
#include "proto/contract.h"

namespace attune::cli {
namespace {

// Calls that together keep to a time.
class Asker {
 public:
  Asker(kube::Api& api, const TimeSource& time, const AskingTime& limits)
      : api_(api), time_(time), each_(limits.each), end_(time.Now() + limits.all) {}

  StatusOr<kube::Json> Document(const std::string& path) const {
    RETURN_IF_ERROR(TimeLeft());
    return api_.GetDocument(path, Call());
  }
  StatusOr<kube::Json> Object(const kube::ResourceType& type, const kube::ObjectKey& key) const {
    RETURN_IF_ERROR(TimeLeft());
    return api_.Get(type, key, Call());
  }
  StatusOr<JsonList> List(const kube::ResourceType& type, const kube::ListOptions& options = {}) const {
    RETURN_IF_ERROR(TimeLeft());
    ASSIGN_OR_RETURN(kube::ListResult list, api_.List(type, options, Call()));
    return std::move(list.items);
  }
  StatusOr<int64_t> ServerTime() const {
    RETURN_IF_ERROR(TimeLeft());
    return api_.ServerTime(Call());
  }
  StatusOr<std::string> Page(const kube::ObjectKey& pod, uint16_t port) const {
    RETURN_IF_ERROR(TimeLeft());
    return api_.GetPodPage(pod, port, "metrics", Call());
  }
  // `user`: "" for the caller.
  std::vector<AskedRight> Rights(const std::vector<Right>& rights, const std::string& user) const {
    std::vector<AskedRight> asked;
    for (const Right& right : rights) {
      // Who may not ask for one may not ask for any.
      const bool refused = !asked.empty() && asked.back().allowed.status().code() == StatusCode::kPermissionDenied;
      asked.push_back({right, refused ? asked.back().allowed : Ask(right, user)});
    }
    return asked;
  }

 private:
  Status TimeLeft() const {
    if (time_.Now() < end_) return OkStatus();
    return Error(StatusCode::kDeadlineExceeded, "not asked: the questions before took all the time there is");
  }
  kube::CallOptions Call() const { return {std::min<Duration>(each_, end_ - time_.Now())}; }
  StatusOr<bool> Ask(const Right& right, const std::string& user) const {
    RETURN_IF_ERROR(TimeLeft());
    ASSIGN_OR_RETURN(const kube::Json review,
                     api_.Create(user.empty() ? kSelfReviews : kReviews, ReviewOf(right, user), Call()));
    return IsAllowed(review);
  }

  kube::Api& api_;
  const TimeSource& time_;
  const Duration each_;
  const MonotonicTime end_;
};

OperatorAnswers AskOperator(const Asker& ask, const kube::Json& deployment) {
  OperatorAnswers answers;
  answers.shape = ShapeOf(deployment);
  const OperatorShape& shape = answers.shape;
  answers.pods = ask.List(kube::kPods, {.name_space = shape.name_space, .label_selector = kOperatorSelector});
  answers.lease = ask.Object(leadership::kLeases, {shape.name_space, shape.lease});
  answers.metrics = Error(StatusCode::kNotFound, "no pod of the operator is ready");
  for (const kube::Json& pod : answers.pods.ok() ? *answers.pods : JsonList()) {
    if (!IsReadyPod(pod)) continue;
    answers.metrics = ask.Page(kube::KeyOf(pod), contract::kOperatorMetricsPort);
    break;
  }
  answers.rights = ask.Rights(RightsOfAnOperator(shape.duties),
                              "system:serviceaccount:" + shape.name_space + ":" + shape.service_account);
  return answers;
}

}  // namespace

ClusterAnswers AskCluster(kube::Api& api, const std::string& name_space, const TimeSource& time,
                          const AskingTime& limits) {
  const Asker ask(api, time, limits);
  ClusterAnswers answers;
  answers.version = kVersion;
  answers.name_space = name_space;
  answers.kubernetes = ask.Document("/version");
  if (!answers.kubernetes.ok()) return answers;
  const WallTime before = time.WallNow();
  answers.server_time = ask.ServerTime();
  const WallTime after = time.WallNow();
  answers.now = ToUnixSeconds(before + (after - before) / 2);
  answers.answer_seconds = Seconds(after - before);
  answers.core_kinds = ask.Document("/api/v1");
  answers.attune_kinds = ask.Document("/apis/" + kube::kTrainingJobs.api_version());
  for (const kube::ResourceType& type : {kube::kTrainingJobs, kube::kTuningPolicies, kube::kClusterTuningPolicies})
    answers.definitions.emplace(type.plural, ask.Object(kDefinitions, {"", type.plural + "." + type.group}));
  answers.rights = ask.Rights(RightsOfAUser(name_space), "");
  answers.deployments = ask.List(kDeployments, {.label_selector = kOperatorSelector});
  for (const kube::Json& deployment : answers.deployments.ok() ? *answers.deployments : JsonList())
    answers.operators.push_back(AskOperator(ask, deployment));
  answers.nodes = ask.List(kube::kNodes);
  answers.pods = ask.List(kube::kPods);
  answers.storage_classes = ask.List(kStorageClasses);
  answers.jobs = ask.List(kube::kTrainingJobs);
  return answers;
}

}  // namespace attune::cli
