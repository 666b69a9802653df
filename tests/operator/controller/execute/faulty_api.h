// The API server as an operator meets it on a bad day, over operator/local's API in memory: calls that are refused,
// that time out with or without their effect, or that are the operator's last, and caches that lag behind. What happens
// is decided by the test, call by call, or drawn from a seed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "operator/controller/execute/executor.h"
#include "operator/kube/api.h"
#include "operator/kube/watch/watch_cache.h"

namespace attune::controller {

// One call to the API server.
struct ApiCall {
  std::string verb;  // create, patch, apply, delete, get, list, log
  std::string kind, name, subresource;
  kube::Json body;  // of a create, patch or apply
  std::string ToString() const {
    return verb + " " + kind + " " + name + (subresource.empty() ? "" : "/" + subresource);
  }
};

// What becomes of a call instead of success.
struct Fault {
  Status status;
  bool carried_out = false;    // the server did it; only the answer is lost
  bool operator_dies = false;  // before the call, or after it when it was carried out
  Duration takes{};            // of the operator's time
};

// Thrown through the executor, and caught by the test: the process is gone at this point.
struct OperatorDied {};

// Deliberate mistakes in how the operator's calls reach the server: what rests on them must be seen to break.
struct ApiMistakes {
  bool status_without_version = false;  // a status is written although it has changed since it was read
};

// Hands every call to a judge first, then to `real`. Events are never disturbed: they come from another thread.
class FaultyApi final : public kube::Api {
 public:
  using Judge = std::function<std::optional<Fault>(const ApiCall&)>;
  // `passes`: a call has taken so long.
  FaultyApi(kube::Api& real, std::function<void(Duration)> passes) : real_(real), passes_(std::move(passes)) {}
  void SetJudge(Judge judge) { judge_ = std::move(judge); }
  void SetMistakes(const ApiMistakes& mistakes) { mistakes_ = mistakes; }
  const std::vector<std::string>& calls() const { return calls_; }
  void ForgetCalls() { calls_.clear(); }

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
  template <typename Result>
  Result Judged(const ApiCall& call, const std::function<Result()>& carry_out);

  kube::Api& real_;
  std::function<void(Duration)> passes_;
  Judge judge_;
  ApiMistakes mistakes_;
  std::vector<std::string> calls_;
};

// How often a call meets each fault, from 0 to 1.
struct FaultRates {
  double refused = 0;    // 403 quota, 409, 422 by a webhook, 429, 500, one as likely as the other
  double times_out = 0;  // with its effect or without
  double dies = 0;       // the operator, with the effect or without
  double any() const { return refused + times_out + dies; }
};

// What becomes of one call, drawn from `random`; nullopt: nothing bad.
std::optional<Fault> DrawFault(Random& random, const FaultRates& rates);

// What one operator process has seen of the cluster: of each kind, what the server had at some time in the past.
class OperatorsView {
 public:
  static constexpr size_t kKinds = 5;  // jobs, pods, services, budgets, nodes
  struct Past {
    std::vector<kube::Json> objects;
    uint64_t version = 0;
  };

  explicit OperatorsView(kube::Api& real);
  Caches caches();
  // What the server has of this kind now.
  Past Look(size_t kind) const;
  // Time never goes back for a cache: what is older than what it shows changes nothing.
  void Show(size_t kind, Past past);

 private:
  struct Cached;
  kube::Api& real_;
  std::vector<std::shared_ptr<Cached>> cached_;
};

}  // namespace attune::controller
