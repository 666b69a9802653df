#include "tests/operator/controller/execute/faulty_api.h"

#include <algorithm>
#include <utility>

#include "operator/controller/execute/carrier.h"
#include "operator/controller/objects/pods.h"
#include "proto/contract.h"

namespace attune::controller {

using kube::Json;

template <typename Result>
Result FaultyApi::Judged(const ApiCall& call, const std::function<Result()>& carry_out) {
  if (call.kind == "Event") return carry_out();
  calls_.push_back(call.ToString());
  const std::optional<Fault> fault = judge_ ? judge_(call) : std::nullopt;
  if (!fault) return carry_out();
  passes_(fault->takes);
  if (fault->carried_out) (void)carry_out();
  if (fault->operator_dies) throw OperatorDied{};
  return fault->status;
}

StatusOr<Json> FaultyApi::Get(const kube::ResourceType& type, const kube::ObjectKey& key, const kube::CallOptions&) {
  return Judged<StatusOr<Json>>({"get", type.kind, key.name, "", {}}, [&] { return real_.Get(type, key); });
}
StatusOr<kube::ListResult> FaultyApi::List(const kube::ResourceType& type, const kube::ListOptions& options,
                                           const kube::CallOptions&) {
  return Judged<StatusOr<kube::ListResult>>({"list", type.kind, options.label_selector, "", {}},
                                            [&] { return real_.List(type, options); });
}
StatusOr<Json> FaultyApi::Create(const kube::ResourceType& type, const Json& object, const kube::CallOptions&) {
  return Judged<StatusOr<Json>>({"create", type.kind, std::string(kube::Name(object)), "", object},
                                [&] { return real_.Create(type, object); });
}
StatusOr<Json> FaultyApi::Update(const kube::ResourceType& type, const Json& object, const std::string& subresource,
                                 const kube::CallOptions&) {
  return real_.Update(type, object, subresource);
}
StatusOr<Json> FaultyApi::Patch(const kube::ResourceType& type, const kube::ObjectKey& key, kube::PatchType patch_type,
                                const Json& patch, const std::string& subresource, const kube::CallOptions&) {
  return Judged<StatusOr<Json>>({"patch", type.kind, key.name, subresource, patch},
                                [&] { return real_.Patch(type, key, patch_type, patch, subresource); });
}
StatusOr<Json> FaultyApi::Apply(const kube::ResourceType& type, const Json& object, const kube::ApplyOptions& options,
                                const kube::CallOptions&) {
  return Judged<StatusOr<Json>>({"apply", type.kind, std::string(kube::Name(object)), options.subresource, object},
                                [&] {
                                  if (!mistakes_.status_without_version) return real_.Apply(type, object, options);
                                  Json careless = object;
                                  careless["metadata"].erase("resourceVersion");
                                  return real_.Apply(type, careless, options);
                                });
}
Status FaultyApi::Delete(const kube::ResourceType& type, const kube::ObjectKey& key, const kube::DeleteOptions& options,
                         const kube::CallOptions&) {
  return Judged<Status>({"delete", type.kind, key.name, "", {}}, [&] { return real_.Delete(type, key, options); });
}
StatusOr<Json> FaultyApi::GetSubresource(const kube::ResourceType& type, const kube::ObjectKey& key,
                                         const std::string& subresource, const kube::CallOptions&) {
  return real_.GetSubresource(type, key, subresource);
}
StatusOr<std::unique_ptr<kube::Watch>> FaultyApi::StartWatch(const kube::ResourceType& type,
                                                             const kube::WatchOptions& options,
                                                             std::function<void(kube::WatchSignal)> on_signal) {
  return real_.StartWatch(type, options, std::move(on_signal));
}
Status FaultyApi::ReadLog(const kube::ObjectKey& pod, const kube::LogOptions& options,
                          const std::function<bool(std::string_view)>& on_text, const kube::CallOptions&) {
  return Judged<Status>({"log", "Pod", pod.name, "", {}}, [&] { return real_.ReadLog(pod, options, on_text); });
}

std::optional<Fault> DrawFault(Random& random, const FaultRates& rates) {
  const double draw = random.Uniform();
  if (draw >= rates.any()) return std::nullopt;
  Fault fault;
  if (draw < rates.dies) {
    fault.status = Error(StatusCode::kCancelled, "the operator died");
    fault.operator_dies = true;
    fault.carried_out = random.Chance(0.5);
  } else if (draw < rates.dies + rates.times_out) {
    fault.status = Error(StatusCode::kDeadlineExceeded, "silent in the middle of a call");
    fault.takes = Carrier::kCallTimeout;
    fault.carried_out = random.Chance(0.5);
  } else {
    const Status refusals[] = {
        Error(StatusCode::kPermissionDenied, "pods \"x\" is forbidden: exceeded quota: compute, requested: 1"),
        Error(StatusCode::kAborted, "the object has been modified; please apply your changes"),
        Error(StatusCode::kInvalidArgument, "admission webhook \"policy.example\" denied the request"),
        Error(StatusCode::kUnavailable, "too many requests"),
        Error(StatusCode::kUnavailable, "the API server answered 500"),
    };
    fault.status = refusals[random.Below(std::size(refusals))];
  }
  return fault;
}

struct OperatorsView::Cached {
  Cached(kube::ResourceType of, kube::WatchCacheOptions options) : type(std::move(of)), cache(std::move(options)) {}
  kube::ResourceType type;
  kube::WatchCache cache;
  uint64_t version = 0;
};

OperatorsView::OperatorsView(kube::Api& real) : real_(real) {
  const auto add = [&](const kube::ResourceType& type, kube::WatchCacheOptions cache) {
    cached_.push_back(std::make_shared<Cached>(type, std::move(cache)));
  };
  add(kube::kTrainingJobs, {});
  add(kube::kPods,
      {.project = [](Json pod) { return ProjectPod(pod); }, .index_label = contract::kLabelJob, .on_change = {}});
  add(kube::kServices, {});
  add(kPodDisruptionBudgets, {});
  add(kube::kNodes, {});
}

Caches OperatorsView::caches() {
  return {cached_[0]->cache, cached_[1]->cache, cached_[2]->cache, cached_[3]->cache, cached_[4]->cache};
}

OperatorsView::Past OperatorsView::Look(size_t kind) const {
  StatusOr<kube::ListResult> list = real_.List(cached_[kind]->type, {});
  if (!list.ok()) return {};  // not installed here, and never shown
  return {std::move(list->items), std::stoull(list->resource_version)};
}

void OperatorsView::Show(size_t kind, Past past) {
  Cached& cached = *cached_[kind];
  if (past.version < cached.version || past.version == 0) return;
  cached.version = past.version;
  cached.cache.Take({kube::WatchEvent::Kind::kReplaced, std::move(past.objects)});
}

}  // namespace attune::controller
