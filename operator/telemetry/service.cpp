#include "operator/telemetry/service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <charconv>
#include <thread>
#include <utility>

#include "attune/v1/telemetry.grpc.pb.h"
#include "base/mutex.h"
#include "base/net/grpc_port.h"
#include "base/net/loopback.h"
#include "operator/telemetry/certificate.h"
#include "operator/telemetry/sidecar_stream.h"

namespace attune::telemetry {
namespace {

constexpr int kMessageBytesMax = 256 << 10;
constexpr int kStreamsPerConnectionMax = 8;            // a sidecar needs one, and one more while it reconnects
constexpr size_t kMemoryBytesMax = size_t{256} << 20;  // of gRPC's buffers, those before authentication included
constexpr int kHandshakeTimeoutMs = 10'000;
// Connections without an accepted sidecar. All sidecars come back at once when the operator starts, and the API server
// reviews one token after the other, so the bound and the time are generous.
constexpr size_t kStrangersMax = 2048;
constexpr Duration kProofTimeout = std::chrono::seconds(60);
constexpr int kConnectionIdleMs = 60'000;  // a connection without a stream is closed then
constexpr Duration kSweep = std::chrono::milliseconds(500);
constexpr int kKeepaliveMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 10'000;

bool ParsePort(const std::string& text, uint16_t& port) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

std::shared_ptr<grpc::ServerCredentials> Credentials(const ServiceOptions& options) {
  if (!options.certificate) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);  // sidecars show their tokens
  tls.pem_key_cert_pairs.push_back({options.certificate->private_key, options.certificate->chain});
  return grpc::SslServerCredentials(tls);
}

class Handler final : public v1::Telemetry::CallbackService {
 public:
  explicit Handler(SharedByStreams& shared) : shared_(shared) {}
  grpc::ServerBidiReactor<v1::SidecarMessage, v1::OperatorMessage>* Connect(
      grpc::CallbackServerContext* context) override {
    return NewSidecarStream(shared_, *context);
  }

 private:
  SharedByStreams& shared_;
};

class GrpcService final : public Service {
 public:
  GrpcService(const ServiceOptions& options, kube::Api& api, JobStore& store)
      : shared_(options, api, store), handler_(shared_) {}

  Status Listen() {
    const std::string& listen = shared_.options.listen;
    const size_t colon = listen.rfind(':');
    uint16_t port = 0;
    if (colon == std::string::npos || !ParsePort(listen.substr(colon + 1), port)) {
      return Error(StatusCode::kInvalidArgument,
                   "telemetry listens on \"" + listen + "\"; write host:port, for example 0.0.0.0:7410");
    }
    if (!shared_.options.authenticate && !IsLoopback(listen.substr(0, colon))) {
      return Error(StatusCode::kFailedPrecondition,
                   "telemetry that reviews no tokens would believe anyone who reaches " + listen +
                       "; listen at a loopback address such as 127.0.0.1:0, or have tokens reviewed");
    }
    if (const auto& certificate = shared_.options.certificate; certificate) {
      RETURN_IF_ERROR(CheckCertificate(certificate->chain, certificate->private_key));
    }
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(kMessageBytesMax);
    builder.SetMaxSendMessageSize(kMessageBytesMax);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kKeepaliveTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kConnectionIdleMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnectionMax);
    builder.SetResourceQuota(grpc::ResourceQuota("telemetry").Resize(kMemoryBytesMax));
    auto taken = GrpcPort::Bind(
        {.host = listen.substr(0, colon), .port = port, .strangers_max = kStrangersMax, .proof_timeout = kProofTimeout},
        builder, Credentials(shared_.options), shared_.time);
    if (!taken.ok()) return Annotate(taken.status(), "cannot listen on " + listen + " for telemetry");
    shared_.port = *std::move(taken);
    builder.RegisterService(&handler_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return Error(StatusCode::kUnavailable, "cannot serve telemetry at " + listen);
    }
    shared_.port->Open();
    address_ = listen.substr(0, colon + 1) + std::to_string(shared_.port->port());
    sweeper_ = std::thread([this] { Sweep(); });
    return OkStatus();
  }

  ~GrpcService() override {
    {
      const MutexLock lock(shared_.mutex);
      shared_.stopping = true;
      shared_.changed.NotifyAll();
    }
    if (sweeper_.joinable()) sweeper_.join();
    if (server_ != nullptr) {
      shared_.port->Close();
      server_->Shutdown(std::chrono::system_clock::time_point{});  // in the past: cancels all streams now
      const MutexLock lock(shared_.mutex);
      while (!shared_.streams.empty()) shared_.changed.Wait(shared_.mutex);
    }
    shared_.calls.reset();
    server_.reset();
  }

  std::string address() const override { return address_; }

  bool Send(const std::string& pod_uid, const v1::Directive& directive, const std::string& key) override {
    if (shared_.options.may_direct && !shared_.options.may_direct()) return false;
    const MutexLock lock(shared_.mutex);  // the stream cannot end meanwhile: OnDone takes this lock before
    const auto found = shared_.accepted_by_pod.find(pod_uid);
    return found != shared_.accepted_by_pod.end() && found->second->Send(directive, key);
  }

  uint64_t implausible_reports() const override { return shared_.implausible; }

 private:
  void Sweep() {
    const MutexLock lock(shared_.mutex);
    while (!shared_.stopping) {
      shared_.changed.WaitFor(shared_.mutex, std::min(kSweep, shared_.options.hello_timeout));
      const MonotonicTime now = shared_.time.Now();
      for (const auto& [number, stream] : shared_.streams) stream->Sweep(now, shared_.options.hello_timeout);
    }
  }

  SharedByStreams shared_;
  Handler handler_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::thread sweeper_;
};

}  // namespace

StatusOr<std::unique_ptr<Service>> Service::Start(const ServiceOptions& options, kube::Api& api, JobStore& store) {
  auto service = std::make_unique<GrpcService>(options, api, store);
  RETURN_IF_ERROR(service->Listen());
  return service;
}

}  // namespace attune::telemetry
