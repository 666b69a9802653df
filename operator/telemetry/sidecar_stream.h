// The stream of one sidecar, as a reactor of gRPC, and what all streams share with the service. Part of service.cpp.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "attune/v1/telemetry.grpc.pb.h"
#include "base/mutex.h"
#include "base/net/connection_limit.h"
#include "base/net/grpc_port.h"
#include "operator/telemetry/authenticator.h"
#include "operator/telemetry/blocking_calls.h"
#include "operator/telemetry/expiring_cache.h"
#include "operator/telemetry/message_allowance.h"
#include "operator/telemetry/service.h"

namespace attune::telemetry {

class SidecarStream;

// What streams share with the service; streams come and go in gRPC's threads.
struct SharedByStreams {
  SharedByStreams(const ServiceOptions& options, kube::Api& api, JobStore& store)
      : options(options), store(store), authenticator(api, time) {}

  const ServiceOptions options;
  JobStore& store;
  SystemTime time;
  std::unique_ptr<GrpcPort> port;
  Authenticator authenticator;
  std::unique_ptr<BlockingCalls> calls = std::make_unique<BlockingCalls>(2);
  std::atomic<bool> stopping = false;

  Mutex mutex;
  CondVar changed;
  uint64_t last_stream ABSL_GUARDED_BY(mutex) = 0;
  std::map<uint64_t, SidecarStream*> streams ABSL_GUARDED_BY(mutex);  // all that have not ended, by number
  ConnectionLimit silent ABSL_GUARDED_BY(mutex){256};                 // of these, those whose hello has not come
  std::unordered_map<std::string, SidecarStream*> accepted_by_pod ABSL_GUARDED_BY(mutex);      // by pod uid
  ExpiringCache<bool> refusals_logged ABSL_GUARDED_BY(mutex){std::chrono::minutes(1), 1'000};  // by source and kind

  std::atomic<uint64_t> implausible = 0;
};

// One sidecar. One read and at most one write are in flight at a time; Finish is called exactly once, and the object
// ends itself in OnDone. Life: hello -> authentication in another thread -> reports until either side ends.
class SidecarStream final : public grpc::ServerBidiReactor<v1::SidecarMessage, v1::OperatorMessage> {
 public:
  SidecarStream(SharedByStreams& shared, grpc::CallbackServerContext& context);

  void OnReadDone(bool ok) override;

  void OnWriteDone(bool ok) override;

  // The read in flight fails then and ends the stream; during authentication its answer does.
  void OnCancel() override {}

  // With the service's mutex held, so that the stream lives. Callbacks that follow come in gRPC's threads.
  void Cancel() { context_.TryCancel(); }
  // From time to time, with the service's mutex held: ends a stream that does not prove itself in time, and reads on
  // from one that had sent too much.
  void Sweep(MonotonicTime now, Duration proof_timeout);

  void OnDone() override;

  bool Send(const v1::Directive& directive, const std::string& key);

 private:
  // A stream that sends faster than any sidecar is read from again when its allowance is back: what it sends meanwhile
  // stays in its own buffers.
  void ReadNext();

  void OnHello();

  // In a thread of BlockingCalls. Nothing is being read meanwhile and Finish has not been called, so the stream lives.
  void Authenticate();

  void Accept();

  bool IsFirstOfItsSource(const Status& refusal);

  void Refuse(const Status& status);

  // False: the store does not know this pod any more.
  bool OnMessage();

  // An answer to something that was not asked says nothing. Without a key only the log wants it.
  void OnResult(const v1::DirectiveResult& result);

  // Once per stream: a pod that sends nonsense every second is one line, and a count.
  void Named(const std::string& implausible);

  std::map<uint64_t, std::string> TakeKeys();
  void Record(const std::string& key, DirectiveAnswer::Outcome outcome, const std::string& message);
  // What one thread did to this object is seen by the next, the constructor's included. gRPC orders them too, by locks
  // that no checker of ours sees.
  void HandOver() { const MutexLock lock(mutex_); }

  void Enqueue(v1::OperatorMessage message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartNextWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void End(const grpc::Status& status);

  SharedByStreams& shared_;
  grpc::CallbackServerContext& context_;  // lives until OnDone has returned
  const std::string source_;
  const MonotonicTime began_;
  uint64_t number_ = 0;

  // By gRPC's read reactions and the authentication between two of them, never at the same time.
  std::string token_;
  v1::SidecarMessage incoming_;
  v1::SidecarHello hello_;
  bool implausible_logged_ = false;
  std::atomic<bool> heard_hello_ = false, accepted_ = false;
  MessageAllowance allowance_;  // by reactions; by the sweep, with mutex_, while nothing is read

  Mutex mutex_;
  std::deque<v1::OperatorMessage> outgoing_ ABSL_GUARDED_BY(mutex_);
  v1::OperatorMessage written_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_directive_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::string> open_ ABSL_GUARDED_BY(mutex_);  // directives not answered yet, by id, with their keys
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;                   // nothing is read until the allowance is back
};

}  // namespace attune::telemetry
