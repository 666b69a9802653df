// A kube::Api that reports every call when it has ended: what was asked of what, how it ended and how long it took.
// Watches are reported when they have begun. Thread-safe where the real one is.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/time_source.h"
#include "operator/kube/api.h"

namespace attune::kube {

struct FinishedCall {
  std::string_view verb;      // as Kubernetes' audit names it: get, list, watch, create, update, patch, apply, delete
  std::string_view resource;  // plural, with its subresource: "pods/log"
  StatusCode code = StatusCode::kOk;
  Duration took{};
};

class MeasuredApi final : public Api {
 public:
  // From whatever thread called; must not call back. The texts live as long as the call of it.
  using Report = std::function<void(const FinishedCall&)>;

  // `real` and `time` must outlive it.
  MeasuredApi(Api& real, const TimeSource& time, Report report)
      : real_(real), time_(time), report_(std::move(report)) {}

  StatusOr<Json> Get(const ResourceType& type, const ObjectKey& key, const CallOptions& call = {}) override;
  StatusOr<ListResult> List(const ResourceType& type, const ListOptions& options,
                            const CallOptions& call = {}) override;
  StatusOr<Json> Create(const ResourceType& type, const Json& object, const CallOptions& call = {}) override;
  StatusOr<Json> Update(const ResourceType& type, const Json& object, const std::string& subresource = "",
                        const CallOptions& call = {}) override;
  StatusOr<Json> Patch(const ResourceType& type, const ObjectKey& key, PatchType patch_type, const Json& patch,
                       const std::string& subresource = "", const CallOptions& call = {}) override;
  StatusOr<Json> Apply(const ResourceType& type, const Json& object, const ApplyOptions& options,
                       const CallOptions& call = {}) override;
  Status Delete(const ResourceType& type, const ObjectKey& key, const DeleteOptions& options = {},
                const CallOptions& call = {}) override;
  StatusOr<Json> GetSubresource(const ResourceType& type, const ObjectKey& key, const std::string& subresource,
                                const CallOptions& call = {}) override;
  StatusOr<Json> GetDocument(const std::string& path, const CallOptions& call) override;
  StatusOr<int64_t> ServerTime(const CallOptions& call) override;
  StatusOr<std::string> GetPodPage(const ObjectKey& pod, uint16_t port, const std::string& path,
                                   const CallOptions& call) override;
  StatusOr<std::unique_ptr<Watch>> StartWatch(const ResourceType& type, const WatchOptions& options,
                                              std::function<void(WatchSignal)> on_signal) override;
  Status ReadLog(const ObjectKey& pod, const LogOptions& options, const std::function<bool(std::string_view)>& on_text,
                 const CallOptions& call = {}) override;

 private:
  template <class Call>
  auto Measure(std::string_view verb, std::string_view resource, std::string_view subresource, Call call);

  Api& real_;
  const TimeSource& time_;
  const Report report_;
};

}  // namespace attune::kube
