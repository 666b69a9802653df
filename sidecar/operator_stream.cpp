#include "sidecar/operator_stream.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "attune/v1/telemetry.grpc.pb.h"
#include "base/mutex.h"
#include "base/os/file.h"

namespace attune::sidecar {
namespace {

constexpr uint64_t kTokenBytesMax = 64 << 10;
constexpr int kMessageBytesMax = 1 << 20;
// An operator that is stopped, or whose machine is gone, ends no stream; another one leads by then. So it is asked for
// a sign of life, less often than the ten seconds that operators allow (operator/telemetry/service.cpp), and left when
// it gives none.
constexpr int kKeepaliveMilliseconds = 12'000;
constexpr int kKeepaliveTimeoutMilliseconds = 5'000;

StatusOr<std::string> ReadToken(const std::string& file) {
  ASSIGN_OR_RETURN(std::string token, ReadFile(file, kTokenBytesMax));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' ')) token.pop_back();
  const bool printable = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (token.empty() || !printable) {
    return Error(StatusCode::kInvalidArgument, "token file " + file + " is empty or holds more than a token");
  }
  return token;
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target, const std::string& authority) {
  grpc::ChannelArguments arguments;
  // The relay decides when to try again; a channel of its own per stream keeps gRPC's waiting times out of it.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMilliseconds);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // reports may be an hour apart
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  const auto credentials =
      authority.empty() ? grpc::InsecureChannelCredentials() : grpc::SslCredentials({.pem_root_certs = authority});
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

// Counts calls in flight, so that the owner can wait for the last.
class Gate {
 public:
  void Enter() {
    const MutexLock lock(mutex_);
    ++inside_;
  }
  void Leave() {
    const MutexLock lock(mutex_);
    --inside_;
    empty_.NotifyAll();
  }
  void WaitEmpty() {
    const MutexLock lock(mutex_);
    while (inside_ != 0) empty_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar empty_;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;
};

// One stream. Its owner keeps it until `over()` and destroys it in its own thread: with the last channel gRPC joins the
// threads that run callbacks, so that a channel must not end in one of them.
class Call final : public grpc::ClientBidiReactor<v1::SidecarMessage, v1::OperatorMessage> {
 public:
  Call(uint64_t generation, OperatorStream::Post post, Gate& gate)
      : generation_(generation), post_(std::move(post)), gate_(gate) {}

  void Start(const std::string& target, const std::string& authority, const std::string& token) {
    gate_.Enter();
    stub_ = v1::Telemetry::NewStub(MakeChannel(target, authority));
    if (!token.empty()) context_.AddMetadata("authorization", "Bearer " + token);
    stub_->async()->Connect(&context_, this);
    AddHold();  // writes come from outside of gRPC's callbacks
    StartRead(&incoming_);
    StartCall();
  }

  void Send(const v1::SidecarMessage& message) {
    const MutexLock lock(mutex_);
    if (!open_) return;  // StreamEnded is on its way
    outgoing_ = message;
    StartWrite(&outgoing_);
  }

  void EndWrites() {
    const MutexLock lock(mutex_);
    if (open_) StartWritesDone();
  }

  void Cancel() {
    {
      const MutexLock lock(mutex_);
      silent_ = true;
    }
    context_.TryCancel();
  }

  // Nothing of it is called or touched any more.
  bool over() const { return over_; }

 private:
  void OnReadDone(bool ok) override {
    if (ok) {
      PostUnlessSilent(OperatorSaid{std::move(incoming_)});
      incoming_.Clear();
      return StartRead(&incoming_);
    }
    {
      const MutexLock lock(mutex_);
      open_ = false;
    }
    RemoveHold();
  }
  void OnWriteDone(bool ok) override {
    if (ok) PostUnlessSilent(MessageSent{});
  }
  void OnDone(const grpc::Status& status) override {
    PostUnlessSilent(StreamEnded{Status(static_cast<StatusCode>(status.error_code()), status.error_message())});
    Gate& gate = gate_;
    over_ = true;  // from here on the owner may destroy this
    gate.Leave();
  }
  // The lock is held, so that nothing is posted after Cancel returned.
  void PostUnlessSilent(RelayInput input) {
    const MutexLock lock(mutex_);
    if (!silent_) post_(generation_, std::move(input));
  }

  const uint64_t generation_;
  const OperatorStream::Post post_;
  Gate& gate_;
  std::atomic<bool> over_{false};
  std::unique_ptr<v1::Telemetry::Stub> stub_;
  grpc::ClientContext context_;
  v1::OperatorMessage incoming_;
  v1::SidecarMessage outgoing_;
  Mutex mutex_;
  bool open_ ABSL_GUARDED_BY(mutex_) = true;  // writes may still be started
  bool silent_ ABSL_GUARDED_BY(mutex_) = false;
};

class GrpcOperatorStream final : public OperatorStream {
 public:
  GrpcOperatorStream(OperatorStreamOptions options, Post post) : options_(std::move(options)), post_(std::move(post)) {}
  ~GrpcOperatorStream() override {
    Cancel();
    gate_.WaitEmpty();
  }

  void Open() override {
    Cancel();
    ++generation_;
    std::string token;
    if (!options_.token_file.empty()) {
      StatusOr<std::string> read = ReadToken(options_.token_file);
      if (!read.ok()) return post_(generation_, StreamEnded{Annotate(read.status(), "reading the sidecar's token")});
      token = *std::move(read);
    }
    std::erase_if(calls_, [](const std::unique_ptr<Call>& call) { return call->over(); });
    call_ = calls_.emplace_back(std::make_unique<Call>(generation_, post_, gate_)).get();
    call_->Start(options_.target, options_.authority, token);
  }
  void Send(const v1::SidecarMessage& message) override {
    if (call_) call_->Send(message);
  }
  void EndWrites() override {
    if (call_) call_->EndWrites();
  }
  void Cancel() override {
    if (call_) call_->Cancel();
    call_ = nullptr;
    ++generation_;
  }
  uint64_t generation() const override { return generation_; }

 private:
  const OperatorStreamOptions options_;
  const Post post_;
  Gate gate_;
  std::vector<std::unique_ptr<Call>> calls_;  // the present one, and cancelled ones that gRPC is not done with
  Call* call_ = nullptr;                      // the present one
  uint64_t generation_ = 0;
};

}  // namespace

std::unique_ptr<OperatorStream> OperatorStream::Create(OperatorStreamOptions options, Post post) {
  return std::make_unique<GrpcOperatorStream>(std::move(options), std::move(post));
}

}  // namespace attune::sidecar
