#include "operator/leadership/fenced_api.h"

#include <algorithm>
#include <utility>

namespace attune::leadership {

using kube::CallOptions;
using kube::Json;

StatusOr<CallOptions> FencedApi::Permit(const char* doing, const kube::ResourceType& type, const kube::ObjectKey& key,
                                        const CallOptions& call) {
  const Duration left = fence_.Left();
  if (left > Duration::zero()) return CallOptions{.timeout = std::min(call.timeout, left)};
  ++refused_;
  return Error(StatusCode::kUnavailable, std::string(doing) + " " + type.kind + " " + key.ToString() +
                                             " was not sent: this operator does not hold Lease " + lease_ +
                                             "; the replica that holds it acts");
}

StatusOr<Json> FencedApi::Create(const kube::ResourceType& type, const Json& object, const CallOptions& call) {
  ASSIGN_OR_RETURN(const CallOptions permitted, Permit("creating", type, kube::KeyOf(object), call));
  return api_.Create(type, object, permitted);
}

StatusOr<Json> FencedApi::Update(const kube::ResourceType& type, const Json& object, const std::string& subresource,
                                 const CallOptions& call) {
  ASSIGN_OR_RETURN(const CallOptions permitted, Permit("updating", type, kube::KeyOf(object), call));
  return api_.Update(type, object, subresource, permitted);
}

StatusOr<Json> FencedApi::Patch(const kube::ResourceType& type, const kube::ObjectKey& key, kube::PatchType patch_type,
                                const Json& patch, const std::string& subresource, const CallOptions& call) {
  ASSIGN_OR_RETURN(const CallOptions permitted, Permit("patching", type, key, call));
  return api_.Patch(type, key, patch_type, patch, subresource, permitted);
}

StatusOr<Json> FencedApi::Apply(const kube::ResourceType& type, const Json& object, const kube::ApplyOptions& options,
                                const CallOptions& call) {
  ASSIGN_OR_RETURN(const CallOptions permitted, Permit("applying", type, kube::KeyOf(object), call));
  return api_.Apply(type, object, options, permitted);
}

Status FencedApi::Delete(const kube::ResourceType& type, const kube::ObjectKey& key, const kube::DeleteOptions& options,
                         const CallOptions& call) {
  ASSIGN_OR_RETURN(const CallOptions permitted, Permit("deleting", type, key, call));
  return api_.Delete(type, key, options, permitted);
}

StatusOr<Json> FencedApi::Get(const kube::ResourceType& type, const kube::ObjectKey& key, const CallOptions& call) {
  return api_.Get(type, key, call);
}

StatusOr<Json> FencedApi::GetDocument(const std::string& path, const CallOptions& call) {
  return api_.GetDocument(path, call);
}

StatusOr<kube::ListResult> FencedApi::List(const kube::ResourceType& type, const kube::ListOptions& options,
                                           const CallOptions& call) {
  return api_.List(type, options, call);
}

StatusOr<Json> FencedApi::GetSubresource(const kube::ResourceType& type, const kube::ObjectKey& key,
                                         const std::string& subresource, const CallOptions& call) {
  return api_.GetSubresource(type, key, subresource, call);
}

StatusOr<std::unique_ptr<kube::Watch>> FencedApi::StartWatch(const kube::ResourceType& type,
                                                             const kube::WatchOptions& options,
                                                             std::function<void(kube::WatchSignal)> on_signal) {
  return api_.StartWatch(type, options, std::move(on_signal));
}

Status FencedApi::ReadLog(const kube::ObjectKey& pod, const kube::LogOptions& options,
                          const std::function<bool(std::string_view)>& on_text, const CallOptions& call) {
  return api_.ReadLog(pod, options, on_text, call);
}

}  // namespace attune::leadership
