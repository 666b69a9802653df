#include "ps/runtime/control/coordinator_client.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <utility>

#include <grpcpp/grpcpp.h>

#include "attune/v1/coordinator.grpc.pb.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/os/random_seed.h"
#include "base/random.h"
#include "base/time_source.h"
#include "ps/core/protocol/limits.h"
#include "ps/runtime/control/control_credentials.h"
#include "ps/runtime/control/coordinator_codec.h"

namespace attune::ps {
namespace {

constexpr Duration kBackoffFirst = std::chrono::milliseconds(50);
constexpr Duration kBackoffMax = std::chrono::seconds(2);
constexpr Duration kSameNewsAfter = std::chrono::minutes(1);  // the same refusal is logged again
constexpr Duration kDrainOnClose = std::chrono::seconds(1);

using Stream = grpc::ClientReaderWriter<v1::NodeMessage, v1::CoordinatorMessage>;

// Certificates are read at each dial: rotated ones are used from then on.
StatusOr<std::shared_ptr<grpc::Channel>> Dial(const std::string& address, const ControlSecurity& security) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // the coordinator is inside the cluster
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kControlMessageBytesMax));
  ASSIGN_OR_RETURN(const auto credentials, ClientCredentials(security, arguments));
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

class GrpcClient final : public CoordinatorClient {
 public:
  GrpcClient(const std::string& address, EventLoop& loop, Events events, const ControlSecurity& security)
      : security_(security),
        loop_(loop),
        shared_(std::make_shared<Shared>(std::move(events))),
        address_(address),
        thread_([this] { Run(); }) {}

  ~GrpcClient() override {
    shared_->alive = false;
    {
      // A cancelled stream may lose what was written to it. So the client closes its half, and the service, once it has
      // read everything, the other.
      const MutexLock lock(mutex_);
      closing_ = true;
      changed_.NotifyAll();
      changed_.WaitFor(mutex_, kDrainOnClose, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !connected_; });
      stopping_ = true;
      if (context_ != nullptr) context_->TryCancel();
    }
    changed_.NotifyAll();
    thread_.join();
  }

  void Send(const Message& message) override {
    const StatusOr<v1::NodeMessage> encoded = ToNodeMessage(message);
    if (!encoded.ok()) return log::Error("cannot send to the coordinator", {{"reason", encoded.status()}});
    {
      const MutexLock lock(mutex_);
      if (!connected_ || queue_.size() >= kUnsentMax) return;
      queue_.push_back(*encoded);
    }
    changed_.NotifyAll();
  }

  void Redirect(const std::string& address) override {
    const MutexLock lock(mutex_);
    if (address_ == address) return;
    address_ = address;
    redirected_ = true;
    if (context_ != nullptr) context_->TryCancel();
    changed_.NotifyAll();
  }

  Status last_error() const override {
    const MutexLock lock(mutex_);
    return last_error_;
  }

 private:
  // Outlives the client in what has been posted to the loop.
  struct Shared {
    explicit Shared(Events events) : events(std::move(events)) {}
    std::atomic<bool> alive = true;
    Events events;
  };

  template <typename Call>
  void Notify(Call call) {
    loop_.Post([shared = shared_, call = std::move(call)]() mutable {
      if (shared->alive) call(shared->events);
    });
  }

  void Run() {
    Random random(RandomSeed());
    Duration backoff = kBackoffFirst;
    for (;;) {
      const bool was_connected = RunOnce();
      backoff = was_connected ? kBackoffFirst : std::min(backoff * 2, kBackoffMax);
      const Duration wait = backoff / 2 + Duration(static_cast<int64_t>(random.Below(backoff.count() / 2 + 1)));
      const MutexLock lock(mutex_);
      changed_.WaitFor(mutex_, wait,
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closing_ || redirected_; });
      if (closing_) return;
      if (std::exchange(redirected_, false)) backoff = kBackoffFirst;
    }
  }

  // One stream from opening to end; whether anything came over it. A fresh channel each time, so that its own backoff
  // does not add to ours.
  bool RunOnce() {
    const std::string address = Address();
    const auto channel = Dial(address, security_);
    if (!channel.ok()) {
      const MutexLock lock(mutex_);
      last_error_ = channel.status();
      return false;
    }
    if (!WaitForConnection(**channel, address)) return false;
    const auto stub = v1::Coordinator::NewStub(*channel);
    grpc::ClientContext context;
    ShowIdentity(security_, context);
    std::unique_ptr<Stream> stream = stub->Attend(&context);
    {
      const MutexLock lock(mutex_);
      if (stopping_ || address != address_) context.TryCancel();
      context_ = &context;
      connected_ = true;
      last_error_ = OkStatus();
    }
    Notify([](Events& events) { events.on_connected(); });
    std::thread writer([&] { WriteQueue(*stream); });
    const bool heard = ReadAll(*stream, context);
    {
      const MutexLock lock(mutex_);
      connected_ = false;
      queue_.clear();
    }
    changed_.NotifyAll();
    writer.join();  // a write that waits fails with the stream; not cancelled, or the service's reason would be lost
    const grpc::Status ended = stream->Finish();
    const bool refused = ended.error_code() == grpc::StatusCode::UNAUTHENTICATED;
    const std::string why =
        refused ? "refused; it is of another job, or was given another token or certificate" : ended.error_message();
    const Status reason = Error(StatusCode::kUnavailable, "the stream to the coordinator at " + address + " ended" +
                                                              (why.empty() ? "" : ": ") + why);
    {
      const MutexLock lock(mutex_);
      context_ = nullptr;
      last_error_ = reason;
    }
    LogRefusal(refused, reason);
    Notify([reason](Events& events) { events.on_disconnected(reason); });
    return heard;
  }

  // What answers at an address is no proof of what became of the coordinator, so it is dialed again; but people should
  // know what is in the way. On the client's thread.
  void LogRefusal(bool refused, const Status& reason) {
    const MonotonicTime now = loop_.time().Now();
    if (!refused || now < log_refusal_again_) return;
    log_refusal_again_ = now + kSameNewsAfter;
    log::Warn("the coordinator's address is answered by a process that refuses this node; dialed again",
              {{"reason", reason}});
  }

  std::string Address() const {
    const MutexLock lock(mutex_);
    return address_;
  }

  bool WaitForConnection(grpc::Channel& channel, const std::string& address) {
    for (int tries = 0; tries < 20; ++tries) {
      {
        const MutexLock lock(mutex_);
        if (closing_ || address != address_) return false;
      }
      if (channel.WaitForConnected(SystemTime().WallNow() + std::chrono::milliseconds(100))) return true;
      if (channel.GetState(false) == GRPC_CHANNEL_TRANSIENT_FAILURE) break;
    }
    const MutexLock lock(mutex_);
    const char* const other = !security_.tls_directory.empty() ? ", or its certificate and ours are not of one job"
                              : !security_.token.empty()       ? ", or what answers does not know this job's token"
                                                               : ", or it wants a token that this node was not given";
    last_error_ = Error(StatusCode::kUnavailable, "no coordinator answers at " + address + other);
    return false;
  }

  // Whether anything came.
  bool ReadAll(Stream& stream, grpc::ClientContext& context) {
    v1::CoordinatorMessage encoded;
    bool heard = false;
    while (stream.Read(&encoded)) {
      StatusOr<Message> message = FromCoordinatorMessage(encoded);
      if (!message.ok()) {
        log::Error("the coordinator sent what cannot be read", {{"reason", message.status()}});
        context.TryCancel();
        return heard;
      }
      heard = true;
      Notify([message = *std::move(message), term = encoded.term()](Events& events) mutable {
        events.on_message(std::move(message), term);
      });
    }
    return heard;
  }

  // Ends the client's half of the stream when the destructor asks for it and all is written.
  void WriteQueue(Stream& stream) {
    ReleasableMutexLock lock(mutex_);
    for (;;) {
      while (queue_.empty() && connected_ && !closing_) changed_.Wait(mutex_);
      if (!connected_ || stopping_) return;
      if (queue_.empty()) {
        lock.Release();
        stream.WritesDone();
        return;
      }
      const v1::NodeMessage message = std::move(queue_.front());
      queue_.pop_front();
      lock.Release();
      const bool written = stream.Write(message);
      lock.Acquire();
      if (!written) return;
    }
  }

  const ControlSecurity security_;
  EventLoop& loop_;
  const std::shared_ptr<Shared> shared_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::string address_ ABSL_GUARDED_BY(mutex_);
  bool redirected_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;   // no new stream; the present one ends when all is written
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;  // and not even that
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::deque<v1::NodeMessage> queue_ ABSL_GUARDED_BY(mutex_);
  Status last_error_ ABSL_GUARDED_BY(mutex_) = Error(StatusCode::kUnavailable, "not connected yet");
  MonotonicTime log_refusal_again_{};  // of the client's thread

  std::thread thread_;
};

}  // namespace

std::unique_ptr<CoordinatorClient> CoordinatorClient::Start(const std::string& address, EventLoop& loop, Events events,
                                                            const ControlSecurity& security) {
  return std::make_unique<GrpcClient>(address, loop, std::move(events), security);
}

}  // namespace attune::ps
