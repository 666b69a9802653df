#include "operator/telemetry/service.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "attune/v1/telemetry.grpc.pb.h"
#include "base/log.h"
#include "operator/telemetry/authenticator.h"
#include "proto/contract.h"

namespace attune::telemetry {
namespace {

constexpr int kMessageBytesMax = 256 << 10;
constexpr size_t kStreamsMax = 20'000;
constexpr size_t kDirectivesQueuedMax = 64;  // per stream
constexpr size_t kDirectivesOpenMax = 128;   // per stream, sent and not answered
constexpr size_t kHellosWaitingMax = 4'096;  // for authentication
constexpr int kAuthenticationThreads = 2;
constexpr int kKeepaliveMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 10'000;

grpc::Status ToGrpc(const Status& status) {
  return {static_cast<grpc::StatusCode>(static_cast<int>(status.code())), std::string(Message(status))};
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
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  bool Post(std::function<void()> call) {
    {
      const std::lock_guard lock(mutex_);
      if (queue_.size() >= kHellosWaitingMax) return false;
      queue_.push_back(std::move(call));
    }
    changed_.notify_one();
    return true;
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      auto call = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      call();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

class Stream;

// What streams share with the service; streams come and go in gRPC's threads.
struct Shared {
  Shared(const ServiceOptions& options, kube::Api& api, JobStore& store)
      : options(options), store(store), authenticator(api, time) {}

  const ServiceOptions options;
  JobStore& store;
  SystemTime time;
  Authenticator authenticator;
  std::unique_ptr<BlockingCalls> calls = std::make_unique<BlockingCalls>(kAuthenticationThreads);
  std::atomic<bool> stopping = false;

  std::mutex mutex;
  std::condition_variable changed;
  std::unordered_set<Stream*> streams;                       // all that have not ended; guarded by mutex
  std::unordered_map<std::string, Stream*> accepted_by_pod;  // by pod uid; guarded by mutex
};

// One sidecar. One read and at most one write are under way at a time; Finish is called exactly once, and the object
// ends itself in OnDone. Life: hello -> authentication in another thread -> reports until either side ends.
class Stream final : public grpc::ServerBidiReactor<v1::SidecarMessage, v1::OperatorMessage> {
 public:
  Stream(Shared& shared, const grpc::CallbackServerContext& context) : shared_(shared) {
    const auto& metadata = context.client_metadata();
    if (const auto found = metadata.find("authorization"); found != metadata.end()) {
      constexpr std::string_view kScheme = "Bearer ";
      const std::string_view value(found->second.data(), found->second.size());
      if (value.starts_with(kScheme)) token_ = value.substr(kScheme.size());
    }
    bool full = false;
    {
      const std::lock_guard lock(shared_.mutex);
      full = shared_.streams.size() >= kStreamsMax;
      shared_.streams.insert(this);
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
      OnMessage();
      StartRead(&incoming_);
    }
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (ok && !ended_) StartNextWrite();
  }

  // The read under way fails then and ends the stream; during authentication its answer does.
  void OnCancel() override {}

  void OnDone() override {
    HandOver();
    if (accepted_) {
      for (const auto& [id, key] : TakeKeys()) {
        Tell(key, DirectiveAnswer::Outcome::kLost, "the connection to its sidecar ended before the answer came");
      }
      shared_.store.Disconnected(hello_, shared_.time.Now());
    }
    {
      const std::lock_guard lock(shared_.mutex);
      if (const auto found = shared_.accepted_by_pod.find(hello_.pod_uid());
          found != shared_.accepted_by_pod.end() && found->second == this) {
        shared_.accepted_by_pod.erase(found);
      }
      shared_.streams.erase(this);
      shared_.changed.notify_all();
    }
    delete this;
  }

  bool Send(const v1::Directive& directive, const std::string& key) {
    const std::lock_guard lock(mutex_);
    if (ended_ || outgoing_.size() >= kDirectivesQueuedMax || keys_.size() >= kDirectivesOpenMax) return false;
    v1::OperatorMessage message;
    *message.mutable_directive() = directive;
    message.mutable_directive()->set_id(++last_directive_);
    if (!key.empty()) keys_[last_directive_] = key;
    Enqueue(std::move(message));
    return true;
  }

 private:
  void OnHello() {
    heard_hello_ = true;
    if (incoming_.kind_case() != v1::SidecarMessage::kHello) {
      End({grpc::StatusCode::INVALID_ARGUMENT, "the first message of a stream is a hello"});
      return;
    }
    hello_ = incoming_.hello();
    if (Status status = CheckHello(hello_); !status.ok()) {
      Refuse(status);
    } else if (!shared_.options.authenticate) {
      Accept();
    } else if (!shared_.calls->Post([this] { Authenticate(); })) {
      End({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many sidecars connect at once; try again later"});
    }
  }

  // In a thread of BlockingCalls. Nothing is being read meanwhile and Finish has not been called, so the stream lives.
  void Authenticate() {
    const Status status = shared_.stopping ? Error(StatusCode::kUnavailable, "the operator is stopping")
                                           : shared_.authenticator.Check(token_, hello_);
    if (status.ok()) {
      Accept();
    } else {
      Refuse(status);
    }
  }

  void Accept() {
    token_.clear();
    accepted_ = true;
    {
      const std::lock_guard lock(mutex_);  // before the stream can be found, so that nothing is said before it
      v1::OperatorMessage message;
      message.mutable_accepted()->set_protocol_version(contract::kProtocolVersion);
      message.mutable_accepted()->set_report_seconds(shared_.options.report_seconds);
      Enqueue(std::move(message));
    }
    {
      const std::lock_guard lock(shared_.mutex);
      shared_.accepted_by_pod[hello_.pod_uid()] = this;  // a reconnect takes the place of the stream it replaces
    }
    shared_.store.Connected(hello_, shared_.time.Now());
    StartRead(&incoming_);
  }

  void Refuse(const Status& status) {
    log::Warn("sidecar refused", {{"pod", hello_.pod()}, {"job", hello_.job()}, {"reason", status}});
    End(ToGrpc(status));
  }

  void OnMessage() {
    switch (incoming_.kind_case()) {
      case v1::SidecarMessage::kReport:
        shared_.store.Report(hello_, incoming_.report(), shared_.time.Now());
        break;
      case v1::SidecarMessage::kFinal:
        shared_.store.Final(hello_, incoming_.final());
        break;
      case v1::SidecarMessage::kDirectiveResult: {
        const v1::DirectiveResult& result = incoming_.directive_result();
        if (!result.accepted()) {
          log::Warn("directive refused", {{"pod", hello_.pod()}, {"id", result.id()}, {"reason", result.message()}});
        }
        if (const std::string key = TakeKey(result.id()); !key.empty()) {
          Tell(key, result.accepted() ? DirectiveAnswer::Outcome::kDone : DirectiveAnswer::Outcome::kRefused,
               result.message());
        }
        break;
      }
      default:
        break;  // a second hello, or a kind of a later release
    }
  }

  std::string TakeKey(uint64_t directive) {
    const std::lock_guard lock(mutex_);
    const auto found = keys_.find(directive);
    if (found == keys_.end()) return "";
    std::string key = std::move(found->second);
    keys_.erase(found);
    return key;
  }
  std::map<uint64_t, std::string> TakeKeys() {
    const std::lock_guard lock(mutex_);
    return std::exchange(keys_, {});
  }
  void Tell(const std::string& key, DirectiveAnswer::Outcome outcome, const std::string& message) {
    constexpr size_t kMessageBytesKept = 2048;
    shared_.store.Answered(hello_, key, {outcome, message.substr(0, kMessageBytesKept), shared_.time.Now()});
  }
  // What one thread did to this object is seen by the next, the constructor's included. gRPC orders them too, by locks
  // that no checker of ours sees.
  void HandOver() { const std::lock_guard lock(mutex_); }

  // With mutex_ held.
  void Enqueue(v1::OperatorMessage message) {
    outgoing_.push_back(std::move(message));
    if (!writing_ && !ended_) StartNextWrite();
  }
  void StartNextWrite() {
    if (outgoing_.empty()) return;
    writing_ = true;
    written_ = std::move(outgoing_.front());
    outgoing_.pop_front();
    StartWrite(&written_);
  }

  void End(const grpc::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return;
      ended_ = true;
    }
    Finish(status);  // may end in OnDone at once: nothing of this object is touched afterwards
  }

  Shared& shared_;
  // By gRPC's read reactions and the authentication between two of them, never at the same time.
  std::string token_;
  v1::SidecarMessage incoming_;
  v1::SidecarHello hello_;
  bool heard_hello_ = false;
  std::atomic<bool> accepted_ = false;

  std::mutex mutex_;  // guards all below
  std::deque<v1::OperatorMessage> outgoing_;
  v1::OperatorMessage written_;
  bool writing_ = false, ended_ = false;
  uint64_t last_directive_ = 0;
  std::map<uint64_t, std::string> keys_;  // of directives not answered yet, by id
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
    if (colon == std::string::npos) {
      return Error(StatusCode::kInvalidArgument,
                   "telemetry listens on \"" + listen + "\"; write host:port, for example 0.0.0.0:7410");
    }
    int port = 0;
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(kMessageBytesMax);
    builder.SetMaxSendMessageSize(kMessageBytesMax);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kKeepaliveTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // an occupied port is an error, not shared
    builder.AddListeningPort(listen, Credentials(shared_.options), &port);
    builder.RegisterService(&handler_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port == 0) {
      return Error(StatusCode::kUnavailable,
                   "cannot listen on " + listen +
                       " for telemetry: the port is taken or the address is not of this machine; choose another one" +
                       (shared_.options.certificate ? ". Or the certificate and its key do not fit together" : ""));
    }
    address_ = listen.substr(0, colon + 1) + std::to_string(port);
    return OkStatus();
  }

  ~GrpcService() override {
    shared_.stopping = true;
    if (server_ != nullptr) {
      server_->Shutdown(std::chrono::system_clock::time_point{});  // in the past: cancels all streams now
      std::unique_lock lock(shared_.mutex);
      shared_.changed.wait(lock, [this] { return shared_.streams.empty(); });
    }
    shared_.calls.reset();
    server_.reset();
  }

  std::string address() const override { return address_; }

  bool Send(const std::string& pod_uid, const v1::Directive& directive, const std::string& key) override {
    const std::lock_guard lock(shared_.mutex);  // the stream cannot end meanwhile: OnDone takes this lock before
    const auto found = shared_.accepted_by_pod.find(pod_uid);
    return found != shared_.accepted_by_pod.end() && found->second->Send(directive, key);
  }

 private:
  Shared shared_;
  Handler handler_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace

StatusOr<std::unique_ptr<Service>> Service::Start(const ServiceOptions& options, kube::Api& api, JobStore& store) {
  auto service = std::make_unique<GrpcService>(options, api, store);
  RETURN_IF_ERROR(service->Listen());
  return service;
}

}  // namespace attune::telemetry
