#include "operator/telemetry/authenticator.h"

#include <algorithm>

#include "base/sha256.h"
#include "proto/contract.h"

namespace attune::telemetry {
namespace {

using kube::Json;

constexpr size_t kNameBytesMax = 253;

std::string FirstExtra(const Json& review, const char* name) {
  const Json& values = kube::At(review, {"status", "user", "extra", name});
  return values.is_array() && !values.empty() && values[0].is_string() ? values[0].get<std::string>() : "";
}

bool IsForUs(const Json& review) {
  const Json& audiences = kube::At(review, {"status", "audiences"});
  return audiences.is_array() &&
         std::find(audiences.begin(), audiences.end(), Json(contract::kTokenAudience)) != audiences.end();
}

bool IsTransient(const Status& status) {
  return status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kDeadlineExceeded;
}

// At most one owner is the controller: the API server sees to that.
bool IsController(const Json& owner, const v1::SidecarHello& hello) {
  const Json& controller = kube::At(owner, {"controller"});
  return controller.is_boolean() && controller.get<bool>() &&
         kube::StringAt(owner, {"apiVersion"}) == kube::kTrainingJobs.api_version() &&
         kube::StringAt(owner, {"kind"}) == kube::kTrainingJobs.kind &&
         kube::StringAt(owner, {"name"}) == hello.job() && kube::StringAt(owner, {"uid"}) == hello.job_uid();
}

Status CannotTell(const Status& status, const char* doing) {
  return Error(StatusCode::kUnavailable, ToString(Annotate(status, doing)));
}

}  // namespace

Status CheckHello(const v1::SidecarHello& hello) {
  if (hello.protocol_version() != contract::kProtocolVersion) {
    return Error(StatusCode::kFailedPrecondition,
                 "this sidecar speaks protocol version " + std::to_string(hello.protocol_version()) +
                     ", the operator speaks " + std::to_string(contract::kProtocolVersion) +
                     "; use images of the same release");
  }
  for (const std::string* text :
       {&hello.namespace_(), &hello.job(), &hello.job_uid(), &hello.pod(), &hello.pod_uid()}) {
    if (text->empty() || text->size() > kNameBytesMax) {
      return Error(StatusCode::kInvalidArgument,
                   "a sidecar's hello names namespace, job, job uid, pod and pod uid, each at most 253 bytes");
    }
  }
  if (hello.role() != contract::kRoleServer && hello.role() != contract::kRoleWorker) {
    return Error(StatusCode::kInvalidArgument, "the role in a sidecar's hello is \"server\" or \"worker\"");
  }
  return OkStatus();
}

Status Authenticator::Check(const std::string& token, const v1::SidecarHello& hello, const std::string& source) {
  if (token.empty() || token.size() > kTokenBytesMax) {
    return Error(StatusCode::kUnauthenticated,
                 "no service-account token in the metadata \"authorization: Bearer ...\"");
  }
  {
    const MutexLock lock(mutex_);
    if (!failures_.MayTry(source, time_.Now())) {
      return Error(StatusCode::kResourceExhausted,
                   "too many attempts from " + source + " failed to authenticate; try again in a minute");
    }
  }
  Status status = CheckIdentity(token, hello);
  if (!status.ok() && !IsTransient(status)) {
    const MutexLock lock(mutex_);
    failures_.Failed(source, time_.Now());
  }
  return status;
}

Status Authenticator::CheckIdentity(const std::string& token, const v1::SidecarHello& hello) {
  ASSIGN_OR_RETURN(const PodIdentity identity, Identify(token));
  if (identity.name_space != hello.namespace_() || identity.pod != hello.pod() || identity.pod_uid != hello.pod_uid()) {
    return Error(StatusCode::kPermissionDenied, "the token belongs to pod " + identity.name_space + "/" + identity.pod +
                                                    ", the hello names " + hello.namespace_() + "/" + hello.pod());
  }
  return CheckPod(hello);
}

StatusOr<PodIdentity> Authenticator::Identify(const std::string& token) {
  const std::string digest = Sha256Digest(token);  // what stays in memory of a token
  {
    const MutexLock lock(mutex_);
    if (const PodIdentity* identity = reviewed_.Find(digest, time_.Now())) return *identity;
    if (const Status* refusal = refused_.Find(digest, time_.Now())) return *refusal;
  }
  StatusOr<PodIdentity> identity = proof_ == TokenProof::kReview ? AskForReview(token) : VerifyByKeys(token);
  const MutexLock lock(mutex_);
  if (identity.ok()) {
    reviewed_.Add(digest, *identity, time_.Now());
  } else if (!IsTransient(identity.status())) {
    refused_.Add(digest, identity.status(), time_.Now());
  }
  return identity;
}

StatusOr<PodIdentity> Authenticator::AskForReview(const std::string& token) {
  const Json request = {{"apiVersion", kube::kTokenReviews.api_version()},
                        {"kind", kube::kTokenReviews.kind},
                        {"spec", {{"token", token}, {"audiences", Json::array({contract::kTokenAudience})}}}};
  StatusOr<Json> review = api_.Create(kube::kTokenReviews, request, {.timeout = kCallTimeout});
  if (!review.ok()) return CannotTell(review.status(), "reviewing a sidecar's token");
  const Json& authenticated = kube::At(*review, {"status", "authenticated"});
  if (!authenticated.is_boolean() || !authenticated.get<bool>() || !IsForUs(*review)) {
    return Error(StatusCode::kUnauthenticated, "the API server does not accept the sidecar's token for audience " +
                                                   std::string(contract::kTokenAudience));
  }
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  const std::string user(kube::StringAt(*review, {"status", "user", "username"}));
  const size_t colon = user.find(':', kPrefix.size());
  if (!user.starts_with(kPrefix) || colon == std::string::npos) {
    return Error(StatusCode::kPermissionDenied, "the token is no service account's");
  }
  return PodIdentity{user.substr(kPrefix.size(), colon - kPrefix.size()),
                     FirstExtra(*review, "authentication.kubernetes.io/pod-name"),
                     FirstExtra(*review, "authentication.kubernetes.io/pod-uid")};
}

StatusOr<PodIdentity> Authenticator::VerifyByKeys(const std::string& token) {
  ASSIGN_OR_RETURN(const auto issuer, keys_.For(KeyIdOf(token)));
  return VerifyIssuedToken(token, *issuer, contract::kTokenAudience, time_.WallNow());
}

// A user may start a pod of any name with our audience and write any label and owner into it. What this proves is that
// the pod says it is controlled by that job; that the job lies in the pod's own namespace proves the rest, because
// a user who may make pods there could as well read what the job's own pods are given (docs/security.md).
Status Authenticator::CheckPod(const v1::SidecarHello& hello) {
  StatusOr<Json> pod = api_.Get(kube::kPods, {hello.namespace_(), hello.pod()}, {.timeout = kCallTimeout});
  if (!pod.ok()) {
    if (pod.status().code() == StatusCode::kNotFound) {
      return Error(StatusCode::kPermissionDenied, "there is no pod " + hello.namespace_() + "/" + hello.pod());
    }
    return IsTransient(pod.status()) ? pod.status() : CannotTell(pod.status(), "reading a sidecar's pod");
  }
  bool owned = false;
  if (const Json& owners = kube::At(*pod, {"metadata", "ownerReferences"}); owners.is_array()) {
    owned = std::any_of(owners.begin(), owners.end(), [&](const Json& owner) { return IsController(owner, hello); });
  }
  const bool same = kube::Uid(*pod) == hello.pod_uid() && kube::Label(*pod, contract::kLabelRole) == hello.role() &&
                    kube::Label(*pod, contract::kLabelIndex) == std::to_string(hello.index());
  if (!owned || !same) {
    return Error(StatusCode::kPermissionDenied, "pod " + hello.namespace_() + "/" + hello.pod() + " is not " +
                                                    hello.role() + " " + std::to_string(hello.index()) + " of job " +
                                                    hello.job());
  }
  return OkStatus();
}

}  // namespace attune::telemetry
