// A kube::Api that writes only while this process holds the Lease. The time is read when a call is made, so a process
// that was stopped refuses its own write when it continues; and no write outlasts the right, because its timeout is
// what is left of it. Reads and watches pass. What was refused was not sent: Unavailable.
//
// Between this check and the first byte on the wire a process can still be stopped. What makes such a write harmless is
// in the write: the version, or the uid, that it replaces (docs/decisions/0061-leader-election.md has the list).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "operator/kube/api.h"
#include "operator/leadership/fence.h"

namespace attune::leadership {

class FencedApi final : public kube::Api {
 public:
  // `lease`: for messages. The others must outlive it.
  FencedApi(kube::Api& api, const Fence& fence, std::string lease)
      : api_(api), fence_(fence), lease_(std::move(lease)) {}

  StatusOr<kube::Json> Get(const kube::ResourceType& type, const kube::ObjectKey& key,
                           const kube::CallOptions& call = {}) override;
  StatusOr<kube::ListResult> List(const kube::ResourceType& type, const kube::ListOptions& options,
                                  const kube::CallOptions& call = {}) override;
  StatusOr<kube::Json> Create(const kube::ResourceType& type, const kube::Json& object,
                              const kube::CallOptions& call = {}) override;
  StatusOr<kube::Json> Update(const kube::ResourceType& type, const kube::Json& object,
                              const std::string& subresource = "", const kube::CallOptions& call = {}) override;
  StatusOr<kube::Json> Patch(const kube::ResourceType& type, const kube::ObjectKey& key, kube::PatchType patch_type,
                             const kube::Json& patch, const std::string& subresource = "",
                             const kube::CallOptions& call = {}) override;
  StatusOr<kube::Json> Apply(const kube::ResourceType& type, const kube::Json& object,
                             const kube::ApplyOptions& options, const kube::CallOptions& call = {}) override;
  Status Delete(const kube::ResourceType& type, const kube::ObjectKey& key, const kube::DeleteOptions& options = {},
                const kube::CallOptions& call = {}) override;
  StatusOr<kube::Json> GetSubresource(const kube::ResourceType& type, const kube::ObjectKey& key,
                                      const std::string& subresource, const kube::CallOptions& call = {}) override;
  StatusOr<kube::Json> GetDocument(const std::string& path, const kube::CallOptions& call) override;
  StatusOr<std::unique_ptr<kube::Watch>> StartWatch(const kube::ResourceType& type, const kube::WatchOptions& options,
                                                    std::function<void(kube::WatchSignal)> on_signal) override;
  Status ReadLog(const kube::ObjectKey& pod, const kube::LogOptions& options,
                 const std::function<bool(std::string_view)>& on_text, const kube::CallOptions& call = {}) override;

  uint64_t refused() const { return refused_; }  // writes that were not sent

 private:
  // How a write may be called now.
  StatusOr<kube::CallOptions> Permit(const char* doing, const kube::ResourceType& type, const kube::ObjectKey& key,
                                     const kube::CallOptions& call);

  kube::Api& api_;
  const Fence& fence_;
  const std::string lease_;
  std::atomic<uint64_t> refused_ = 0;
};

}  // namespace attune::leadership
