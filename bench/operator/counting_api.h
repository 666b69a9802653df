// Counts the calls that go through it, by what they do to what. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "operator/kube/api.h"

namespace attune::bench {

class CountingApi final : public kube::Api {
 public:
  // `real` outlives it.
  explicit CountingApi(kube::Api& real) : real_(real) {}

  std::map<std::string, int> calls() const {  // "patch trainingjobs/status"
    const MutexLock lock(mutex_);
    return calls_;
  }

  StatusOr<kube::Json> Get(const kube::ResourceType& type, const kube::ObjectKey& key,
                           const kube::CallOptions& call) override;
  StatusOr<kube::ListResult> List(const kube::ResourceType& type, const kube::ListOptions& options,
                                  const kube::CallOptions& call) override;
  StatusOr<kube::Json> Create(const kube::ResourceType& type, const kube::Json& object,
                              const kube::CallOptions& call) override;
  StatusOr<kube::Json> Update(const kube::ResourceType& type, const kube::Json& object, const std::string& subresource,
                              const kube::CallOptions& call) override;
  StatusOr<kube::Json> Patch(const kube::ResourceType& type, const kube::ObjectKey& key, kube::PatchType patch_type,
                             const kube::Json& patch, const std::string& subresource,
                             const kube::CallOptions& call) override;
  StatusOr<kube::Json> Apply(const kube::ResourceType& type, const kube::Json& object,
                             const kube::ApplyOptions& options, const kube::CallOptions& call) override;
  Status Delete(const kube::ResourceType& type, const kube::ObjectKey& key, const kube::DeleteOptions& options,
                const kube::CallOptions& call) override;
  StatusOr<kube::Json> GetSubresource(const kube::ResourceType& type, const kube::ObjectKey& key,
                                      const std::string& subresource, const kube::CallOptions& call) override;
  StatusOr<std::unique_ptr<kube::Watch>> StartWatch(const kube::ResourceType& type, const kube::WatchOptions& options,
                                                    std::function<void(kube::WatchSignal)> on_signal) override;
  Status ReadLog(const kube::ObjectKey& pod, const kube::LogOptions& options,
                 const std::function<bool(std::string_view)>& on_text, const kube::CallOptions& call) override;

 private:
  kube::Api& Counted(const char* verb, const kube::ResourceType& type, const std::string& subresource = "");

  kube::Api& real_;
  mutable Mutex mutex_;
  std::map<std::string, int> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::bench
