// The stream of one sidecar, and what all streams share with the service. Part of service.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "attune/v1/telemetry.pb.h"
#include "base/mutex.h"
#include "base/net/connection_limit.h"
#include "base/net/grpc_port.h"
#include "operator/telemetry/authenticator.h"
#include "operator/telemetry/blocking_calls.h"
#include "operator/telemetry/expiring_cache.h"
#include "operator/telemetry/service.h"

namespace grpc {
class CallbackServerContext;
template <class Request, class Response>
class ServerBidiReactor;
}  // namespace grpc

namespace attune::telemetry {

class SidecarStream;

// What streams share with the service; streams come and go in gRPC's threads.
struct SharedByStreams {
  SharedByStreams(const ServiceOptions& options, kube::Api& api, JobStore& store)
      : options(options), store(store), authenticator(api, time, options.proof) {}

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

// One sidecar's stream, as the service knows it. It ends itself; while the service's mutex is held it lives.
class SidecarStream {
 public:
  // Callbacks that follow come in gRPC's threads.
  virtual void Cancel() = 0;
  // From time to time: ends a stream that does not prove itself in time, and reads on from one that had sent too much.
  virtual void Sweep(MonotonicTime now, Duration proof_timeout) = 0;
  // False when it has ended, or has too many directives already.
  virtual bool Send(const v1::Directive& directive, const std::string& key) = 0;

 protected:
  ~SidecarStream() = default;
};

// For gRPC, which calls it from its threads.
grpc::ServerBidiReactor<v1::SidecarMessage, v1::OperatorMessage>* NewSidecarStream(
    SharedByStreams& shared, grpc::CallbackServerContext& context);

}  // namespace attune::telemetry
