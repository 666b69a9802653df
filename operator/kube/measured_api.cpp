#include "operator/kube/measured_api.h"

namespace attune::kube {
namespace {

StatusCode CodeOf(const Status& status) { return status.code(); }
template <class Value>
StatusCode CodeOf(const StatusOr<Value>& result) {
  return result.status().code();
}

}  // namespace

template <class Call>
auto MeasuredApi::Measure(std::string_view verb, std::string_view resource, std::string_view subresource, Call call) {
  const MonotonicTime begin = time_.Now();
  auto result = call();
  std::string name(resource);
  if (!subresource.empty()) name.append("/").append(subresource);
  report_({.verb = verb, .resource = name, .code = CodeOf(result), .took = time_.Now() - begin});
  return result;
}

StatusOr<Json> MeasuredApi::Get(const ResourceType& type, const ObjectKey& key, const CallOptions& call) {
  return Measure("get", type.plural, "", [&] { return real_.Get(type, key, call); });
}

StatusOr<ListResult> MeasuredApi::List(const ResourceType& type, const ListOptions& options, const CallOptions& call) {
  return Measure("list", type.plural, "", [&] { return real_.List(type, options, call); });
}

StatusOr<Json> MeasuredApi::Create(const ResourceType& type, const Json& object, const CallOptions& call) {
  return Measure("create", type.plural, "", [&] { return real_.Create(type, object, call); });
}

StatusOr<Json> MeasuredApi::Update(const ResourceType& type, const Json& object, const std::string& subresource,
                                   const CallOptions& call) {
  return Measure("update", type.plural, subresource, [&] { return real_.Update(type, object, subresource, call); });
}

StatusOr<Json> MeasuredApi::Patch(const ResourceType& type, const ObjectKey& key, PatchType patch_type,
                                  const Json& patch, const std::string& subresource, const CallOptions& call) {
  return Measure("patch", type.plural, subresource,
                 [&] { return real_.Patch(type, key, patch_type, patch, subresource, call); });
}

StatusOr<Json> MeasuredApi::Apply(const ResourceType& type, const Json& object, const ApplyOptions& options,
                                  const CallOptions& call) {
  return Measure("apply", type.plural, options.subresource, [&] { return real_.Apply(type, object, options, call); });
}

Status MeasuredApi::Delete(const ResourceType& type, const ObjectKey& key, const DeleteOptions& options,
                           const CallOptions& call) {
  return Measure("delete", type.plural, "", [&] { return real_.Delete(type, key, options, call); });
}

StatusOr<Json> MeasuredApi::GetSubresource(const ResourceType& type, const ObjectKey& key,
                                           const std::string& subresource, const CallOptions& call) {
  return Measure("get", type.plural, subresource, [&] { return real_.GetSubresource(type, key, subresource, call); });
}

// Not by its path, of which there may be many.
StatusOr<Json> MeasuredApi::GetDocument(const std::string& path, const CallOptions& call) {
  return Measure("get", "documents", "", [&] { return real_.GetDocument(path, call); });
}

StatusOr<int64_t> MeasuredApi::ServerTime(const CallOptions& call) {
  return Measure("get", "time", "", [&] { return real_.ServerTime(call); });
}

StatusOr<std::string> MeasuredApi::GetPodPage(const ObjectKey& pod, uint16_t port, const std::string& path,
                                              const CallOptions& call) {
  return Measure("get", kPods.plural, "proxy", [&] { return real_.GetPodPage(pod, port, path, call); });
}

StatusOr<std::unique_ptr<Watch>> MeasuredApi::StartWatch(const ResourceType& type, const WatchOptions& options,
                                                         std::function<void(WatchSignal)> on_signal) {
  return Measure("watch", type.plural, "", [&] { return real_.StartWatch(type, options, std::move(on_signal)); });
}

Status MeasuredApi::ReadLog(const ObjectKey& pod, const LogOptions& options,
                            const std::function<bool(std::string_view)>& on_text, const CallOptions& call) {
  return Measure("get", kPods.plural, "log", [&] { return real_.ReadLog(pod, options, on_text, call); });
}

}  // namespace attune::kube
