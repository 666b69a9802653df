#include "bench/operator/counting_api.h"

namespace attune::bench {

using kube::CallOptions;
using kube::Json;
using kube::ObjectKey;
using kube::ResourceType;

kube::Api& CountingApi::Counted(const char* verb, const ResourceType& type, const std::string& subresource) {
  const MutexLock lock(mutex_);
  ++calls_[std::string(verb) + " " + type.plural + (subresource.empty() ? "" : "/" + subresource)];
  return real_;
}

StatusOr<Json> CountingApi::Get(const ResourceType& type, const ObjectKey& key, const CallOptions& call) {
  return Counted("get", type).Get(type, key, call);
}
StatusOr<kube::ListResult> CountingApi::List(const ResourceType& type, const kube::ListOptions& options,
                                             const CallOptions& call) {
  return Counted("list", type).List(type, options, call);
}
StatusOr<Json> CountingApi::Create(const ResourceType& type, const Json& object, const CallOptions& call) {
  return Counted("create", type).Create(type, object, call);
}
StatusOr<Json> CountingApi::Update(const ResourceType& type, const Json& object, const std::string& subresource,
                                   const CallOptions& call) {
  return Counted("update", type, subresource).Update(type, object, subresource, call);
}
StatusOr<Json> CountingApi::Patch(const ResourceType& type, const ObjectKey& key, kube::PatchType patch_type,
                                  const Json& patch, const std::string& subresource, const CallOptions& call) {
  return Counted("patch", type, subresource).Patch(type, key, patch_type, patch, subresource, call);
}
StatusOr<Json> CountingApi::Apply(const ResourceType& type, const Json& object, const kube::ApplyOptions& options,
                                  const CallOptions& call) {
  return Counted("apply", type, options.subresource).Apply(type, object, options, call);
}
Status CountingApi::Delete(const ResourceType& type, const ObjectKey& key, const kube::DeleteOptions& options,
                           const CallOptions& call) {
  return Counted("delete", type).Delete(type, key, options, call);
}
StatusOr<Json> CountingApi::GetSubresource(const ResourceType& type, const ObjectKey& key,
                                           const std::string& subresource, const CallOptions& call) {
  return Counted("get", type, subresource).GetSubresource(type, key, subresource, call);
}
StatusOr<std::unique_ptr<kube::Watch>> CountingApi::StartWatch(const ResourceType& type,
                                                               const kube::WatchOptions& options,
                                                               std::function<void(kube::WatchSignal)> on_signal) {
  return Counted("watch", type).StartWatch(type, options, std::move(on_signal));
}
Status CountingApi::ReadLog(const ObjectKey& pod, const kube::LogOptions& options,
                            const std::function<bool(std::string_view)>& on_text, const CallOptions& call) {
  return Counted("log", kube::kPods).ReadLog(pod, options, on_text, call);
}

}  // namespace attune::bench
