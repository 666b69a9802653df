// An Api that answers nothing: tests override the calls they care about.
#pragma once

#include "operator/kube/api.h"

namespace attune::kube {

class FakeApi : public Api {
 public:
  StatusOr<Json> Get(const ResourceType&, const ObjectKey&, const CallOptions&) override { return Unused(); }
  StatusOr<ListResult> List(const ResourceType&, const ListOptions&, const CallOptions&) override { return Unused(); }
  StatusOr<Json> Create(const ResourceType&, const Json&, const CallOptions&) override { return Unused(); }
  StatusOr<Json> Update(const ResourceType&, const Json&, const std::string&, const CallOptions&) override {
    return Unused();
  }
  StatusOr<Json> Patch(const ResourceType&, const ObjectKey&, PatchType, const Json&, const std::string&,
                       const CallOptions&) override {
    return Unused();
  }
  StatusOr<Json> Apply(const ResourceType&, const Json&, const ApplyOptions&, const CallOptions&) override {
    return Unused();
  }
  Status Delete(const ResourceType&, const ObjectKey&, const DeleteOptions&, const CallOptions&) override {
    return Unused();
  }
  StatusOr<Json> GetSubresource(const ResourceType&, const ObjectKey&, const std::string&,
                                const CallOptions&) override {
    return Unused();
  }
  StatusOr<std::unique_ptr<Watch>> StartWatch(const ResourceType&, const WatchOptions&,
                                              std::function<void(WatchSignal)>) override {
    return Unused();
  }
  Status ReadLog(const ObjectKey&, const LogOptions&, const std::function<bool(std::string_view)>&,
                 const CallOptions&) override {
    return Unused();
  }

 private:
  static Status Unused() { return Error(StatusCode::kUnimplemented, "this test does not expect the call"); }
};

}  // namespace attune::kube
