#include "operator/telemetry/service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attune/v1/telemetry.grpc.pb.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/net/connection_limit.h"
#include "base/net/grpc_port.h"
#include "base/net/loopback.h"
#include "operator/telemetry/authenticator.h"
#include "operator/telemetry/certificate.h"
#include "operator/telemetry/expiring_cache.h"
#include "operator/telemetry/message_allowance.h"
#include "operator/telemetry/plausible.h"
#include "proto/contract.h"

namespace attune::telemetry {
namespace {

constexpr int kMessageBytesMax = 256 << 10;
constexpr size_t kStreamsMax = 20'000;
constexpr size_t kDirectivesQueuedMax = 64;  // per stream
constexpr size_t kDirectivesOpenMax = 128;   // per stream, sent and not answered
constexpr size_t kHellosWaitingMax = 4'096;  // for authentication
constexpr size_t kHellosWaitingPerSourceMax = 256;
constexpr size_t kSilentStreamsMax = 256;              // that have not sent their hello yet
constexpr int kStreamsPerConnectionMax = 8;            // a sidecar needs one, and one more while it reconnects
constexpr size_t kMemoryBytesMax = size_t{256} << 20;  // of gRPC's buffers, those before authentication included
constexpr int kHandshakeTimeoutMs = 10'000;
// Connections without an accepted sidecar. All sidecars come back at once when the operator starts, and the API server
// reviews one token after the other, so the bound and the time are generous.
constexpr size_t kStrangersMax = 2048;
constexpr Duration kProofTimeout = std::chrono::seconds(60);
constexpr int kConnectionIdleMs = 60'000;  // a connection without a stream is closed then
constexpr Duration kSweep = std::chrono::milliseconds(500);
constexpr int kAuthenticationThreads = 2;
constexpr int kKeepaliveMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 10'000;

grpc::Status ToGrpc(const Status& status) {
  return {static_cast<grpc::StatusCode>(static_cast<int>(status.code())), std::string(Message(status))};
}

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

// A few threads for calls that block: reactions of gRPC must not.
class BlockingCalls {
 public:
  explicit BlockingCalls(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
  }
  // Carries out what is queued, then returns.
  ~BlockingCalls() {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.NotifyAll();
    for (std::thread& thread : threads_) thread.join();
  }
  // False when too many wait, all together or of that source.
  bool Post(const std::string& source, std::function<void()> call) {
    {
      const MutexLock lock(mutex_);
      if (queue_.size() >= kHellosWaitingMax || waiting_[source] >= kHellosWaitingPerSourceMax) return false;
      ++waiting_[source];
      queue_.emplace_back(source, std::move(call));
    }
    changed_.NotifyOne();
    return true;
  }

 private:
  void Run() {
    ReleasableMutexLock lock(mutex_);
    while (true) {
      while (!stopping_ && queue_.empty()) changed_.Wait(mutex_);
      if (queue_.empty()) return;
      auto [source, call] = std::move(queue_.front());
      queue_.pop_front();
      if (--waiting_[source] == 0) waiting_.erase(source);
      lock.Release();
      call();
      lock.Acquire();
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::pair<std::string, std::function<void()>>> queue_ ABSL_GUARDED_BY(mutex_);  // each with its source
  std::map<std::string, size_t> waiting_ ABSL_GUARDED_BY(mutex_);                            // in the queue, by source
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

// The address of a peer without its port; "ipv4:10.0.0.7:41822" is what gRPC says.
std::string SourceOf(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

class Stream;

// What streams share with the service; streams come and go in gRPC's threads.
struct Shared {
  Shared(const ServiceOptions& options, kube::Api& api, JobStore& store)
      : options(options), store(store), authenticator(api, time) {}

  const ServiceOptions options;
  JobStore& store;
  SystemTime time;
  std::unique_ptr<GrpcPort> port;
  Authenticator authenticator;
  std::unique_ptr<BlockingCalls> calls = std::make_unique<BlockingCalls>(kAuthenticationThreads);
  std::atomic<bool> stopping = false;

  Mutex mutex;
  CondVar changed;
  uint64_t last_stream ABSL_GUARDED_BY(mutex) = 0;
  std::map<uint64_t, Stream*> streams ABSL_GUARDED_BY(mutex);        // all that have not ended, by number
  ConnectionLimit silent ABSL_GUARDED_BY(mutex){kSilentStreamsMax};  // of these, those whose hello has not come
  std::unordered_map<std::string, Stream*> accepted_by_pod ABSL_GUARDED_BY(mutex);             // by pod uid
  ExpiringCache<bool> refusals_logged ABSL_GUARDED_BY(mutex){std::chrono::minutes(1), 1'000};  // by source and kind

  std::atomic<uint64_t> implausible = 0;
};

// One sidecar. One read and at most one write are in flight at a time; Finish is called exactly once, and the object
// ends itself in OnDone. Life: hello -> authentication in another thread -> reports until either side ends.
class Stream final : public grpc::ServerBidiReactor<v1::SidecarMessage, v1::OperatorMessage> {
 public:
  Stream(Shared& shared, grpc::CallbackServerContext& context)
      : shared_(shared),
        context_(context),
        source_(SourceOf(context.peer())),
        began_(shared.time.Now()),
        allowance_(began_) {
    const auto& metadata = context.client_metadata();
    if (const auto found = metadata.find("authorization"); found != metadata.end()) {
      constexpr std::string_view kScheme = "Bearer ";
      const std::string_view value(found->second.data(), found->second.size());
      if (value.starts_with(kScheme)) token_ = value.substr(kScheme.size());
    }
    bool full = false;
    {
      const MutexLock lock(shared_.mutex);
      full = shared_.streams.size() >= kStreamsMax;
      number_ = ++shared_.last_stream;
      shared_.streams[number_] = this;
      if (const std::optional<uint64_t> victim = shared_.silent.Enter(number_, source_)) {
        if (const auto found = shared_.streams.find(*victim); found != shared_.streams.end()) found->second->Cancel();
      }
    }
    HandOver();
    if (full) {
      End({grpc::StatusCode::RESOURCE_EXHAUSTED, "this operator serves as many sidecars as it can; try again later"});
    } else {
      StartRead(&incoming_);
    }
  }

  void OnReadDone(bool ok) override {
    HandOver();
    if (!ok) {
      End(grpc::Status::OK);
    } else if (!heard_hello_) {
      OnHello();
    } else {
      allowance_.Take(shared_.time.Now());
      if (!OnMessage()) {
        End({grpc::StatusCode::FAILED_PRECONDITION, "this pod's job is gone, or another pod has its place"});
      } else {
        ReadNext();
      }
    }
  }

  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    writing_ = false;
    if (ok && !ended_) StartNextWrite();
  }

  // The read in flight fails then and ends the stream; during authentication its answer does.
  void OnCancel() override {}

  // With the service's mutex held, so that the stream lives. Callbacks that follow come in gRPC's threads.
  void Cancel() { context_.TryCancel(); }
  // From time to time, with the service's mutex held: ends a stream that does not prove itself in time, and reads on
  // from one that had sent too much.
  void Sweep(MonotonicTime now, Duration proof_timeout) {
    if (!accepted_) {
      if (now - began_ > (heard_hello_ ? kCheckTimeout : proof_timeout)) Cancel();
      return;
    }
    {
      const MutexLock lock(mutex_);
      if (!paused_ || allowance_.IsUsedUp(now)) return;
      paused_ = false;
    }
    StartRead(&incoming_);
  }

  void OnDone() override {
    HandOver();
    if (accepted_) {
      for (const auto& [id, key] : TakeKeys()) {
        if (key.empty()) continue;
        Record(key, DirectiveAnswer::Outcome::kLost, "the connection to its sidecar ended before the answer came");
      }
      shared_.store.Disconnected(hello_, shared_.time.Now());
    }
    {
      const MutexLock lock(shared_.mutex);
      if (const auto found = shared_.accepted_by_pod.find(hello_.pod_uid());
          found != shared_.accepted_by_pod.end() && found->second == this) {
        shared_.accepted_by_pod.erase(found);
      }
      shared_.silent.Leave(number_);
      shared_.streams.erase(number_);
      shared_.changed.NotifyAll();
    }
    delete this;
  }

  bool Send(const v1::Directive& directive, const std::string& key) {
    const MutexLock lock(mutex_);
    if (ended_ || outgoing_.size() >= kDirectivesQueuedMax || open_.size() >= kDirectivesOpenMax) return false;
    v1::OperatorMessage message;
    *message.mutable_directive() = directive;
    message.mutable_directive()->set_id(++last_directive_);
    open_[last_directive_] = key;
    Enqueue(std::move(message));
    return true;
  }

 private:
  static constexpr Duration kCheckTimeout = std::chrono::seconds(60);

  // A stream that sends faster than any sidecar is read from again when its allowance is back: what it sends meanwhile
  // stays in its own buffers.
  void ReadNext() {
    {
      const MutexLock lock(mutex_);
      paused_ = allowance_.IsUsedUp(shared_.time.Now());
      if (paused_) return;
    }
    StartRead(&incoming_);
  }

  void OnHello() {
    heard_hello_ = true;
    {
      const MutexLock lock(shared_.mutex);
      shared_.silent.Leave(number_);
    }
    if (incoming_.kind_case() != v1::SidecarMessage::kHello) {
      End({grpc::StatusCode::INVALID_ARGUMENT, "the first message of a stream is a hello"});
      return;
    }
    hello_ = incoming_.hello();
    if (Status status = CheckHello(hello_); !status.ok()) {
      Refuse(status);
    } else if (status = shared_.store.CheckJob(JobOf(hello_)); !status.ok()) {
      Refuse(status);  // no call is spent on a job that is not there
    } else if (!shared_.options.authenticate) {
      Accept();
    } else if (!shared_.calls->Post(source_, [this] { Authenticate(); })) {
      End({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many sidecars connect at once; try again later"});
    }
  }

  // In a thread of BlockingCalls. Nothing is being read meanwhile and Finish has not been called, so the stream lives.
  void Authenticate() {
    const Status status = shared_.stopping ? Error(StatusCode::kUnavailable, "the operator is stopping")
                                           : shared_.authenticator.Check(token_, hello_, source_);
    if (status.ok()) {
      Accept();
    } else {
      Refuse(status);
    }
  }

  void Accept() {
    token_.clear();
    if (const Status status = shared_.store.Connected(hello_, shared_.time.Now()); !status.ok()) return Refuse(status);
    accepted_ = true;
    shared_.port->Proved(context_.peer());
    v1::OperatorMessage message;
    message.mutable_accepted()->set_protocol_version(contract::kProtocolVersion);
    message.mutable_accepted()->set_report_seconds(shared_.options.report_seconds);
    {
      // In one step. Found first, it might say something before; said first, a reconnect that follows the word could be
      // found earlier, and be taken for the older of the two.
      const MutexLock lock(shared_.mutex);
      Stream*& present = shared_.accepted_by_pod[hello_.pod_uid()];
      if (present != nullptr) present->Cancel();  // a pod has one stream: a reconnect ends the one it replaces
      present = this;
      const MutexLock own_lock(mutex_);
      Enqueue(std::move(message));
    }
    StartRead(&incoming_);
  }

  bool IsFirstOfItsSource(const Status& refusal) {
    const std::string kind = source_ + ' ' + std::to_string(static_cast<int>(refusal.code()));
    const MutexLock lock(shared_.mutex);
    if (shared_.refusals_logged.Find(kind, shared_.time.Now()) != nullptr) return false;
    shared_.refusals_logged.Add(kind, true, shared_.time.Now());
    return true;
  }

  void Refuse(const Status& status) {
    if (IsFirstOfItsSource(status)) {
      log::Warn("sidecar refused; more of the kind from there are not logged for a minute",
                {{"source", source_}, {"pod", hello_.pod()}, {"job", hello_.job()}, {"reason", status}});
    }
    End(ToGrpc(status));
  }

  // False: the store does not know this pod any more.
  bool OnMessage() {
    switch (incoming_.kind_case()) {
      case v1::SidecarMessage::kReport:
        Named(KeepPlausible(hello_, *incoming_.mutable_report()));
        return shared_.store.Report(hello_, incoming_.report(), shared_.time.Now());
      case v1::SidecarMessage::kFinal:
        Named(KeepPlausible(*incoming_.mutable_final()));
        return shared_.store.Final(hello_, incoming_.final());
      case v1::SidecarMessage::kDirectiveResult:
        OnResult(incoming_.directive_result());
        return true;
      default:
        return true;  // a second hello, or a kind of a later release
    }
  }

  // An answer to something that was not asked says nothing. Without a key only the log wants it.
  void OnResult(const v1::DirectiveResult& result) {
    constexpr size_t kMessageBytesKept = 2048;
    bool asked = false;
    std::string key;
    {
      const MutexLock lock(mutex_);
      if (const auto found = open_.find(result.id()); found != open_.end()) {
        asked = true;
        key = std::move(found->second);
        open_.erase(found);
      }
    }
    if (!asked) return;
    const std::string message = CleanText(result.message(), kMessageBytesKept);
    if (!result.accepted()) {
      log::Warn("directive refused", {{"pod", hello_.pod()}, {"id", result.id()}, {"reason", message}});
    }
    if (!key.empty())
      Record(key, result.accepted() ? DirectiveAnswer::Outcome::kDone : DirectiveAnswer::Outcome::kRefused, message);
  }

  // Once per stream: a pod that sends nonsense every second is one line, and a count.
  void Named(const std::string& implausible) {
    if (implausible.empty()) return;
    ++shared_.implausible;
    if (std::exchange(implausible_logged_, true)) return;
    log::Warn("a report has parts that cannot be true; they are left out",
              {{"pod", hello_.pod()}, {"job", hello_.job()}, {"parts", implausible}});
  }

  std::map<uint64_t, std::string> TakeKeys() {
    const MutexLock lock(mutex_);
    return std::exchange(open_, {});
  }
  void Record(const std::string& key, DirectiveAnswer::Outcome outcome, const std::string& message) {
    shared_.store.Answered(hello_, key, {outcome, message, shared_.time.Now()});
  }
  // What one thread did to this object is seen by the next, the constructor's included. gRPC orders them too, by locks
  // that no checker of ours sees.
  void HandOver() { const MutexLock lock(mutex_); }

  void Enqueue(v1::OperatorMessage message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    outgoing_.push_back(std::move(message));
    if (!writing_ && !ended_) StartNextWrite();
  }
  void StartNextWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (outgoing_.empty()) return;
    writing_ = true;
    written_ = std::move(outgoing_.front());
    outgoing_.pop_front();
    StartWrite(&written_);
  }

  void End(const grpc::Status& status) {
    {
      const MutexLock lock(mutex_);
      if (ended_) return;
      ended_ = true;
    }
    Finish(status);  // may end in OnDone at once: nothing of this object is touched afterwards
  }

  Shared& shared_;
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

class Handler final : public v1::Telemetry::CallbackService {
 public:
  explicit Handler(Shared& shared) : shared_(shared) {}
  grpc::ServerBidiReactor<v1::SidecarMessage, v1::OperatorMessage>* Connect(
      grpc::CallbackServerContext* context) override {
    return new Stream(shared_, *context);  // ends itself
  }

 private:
  Shared& shared_;
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

  Shared shared_;
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
