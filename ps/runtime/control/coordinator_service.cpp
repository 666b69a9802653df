#include "ps/runtime/control/coordinator_service.h"

#include <atomic>
#include <deque>
#include <unordered_map>

#include <grpcpp/grpcpp.h>

#include "attune/v1/coordinator.grpc.pb.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/net/grpc_port.h"
#include "base/time_source.h"
#include "proto/contract.h"
#include "ps/core/protocol/limits.h"
#include "ps/runtime/control/control_credentials.h"
#include "ps/runtime/control/coordinator_codec.h"
#include "ps/transport/tcp/listen_rule.h"

namespace attune::ps {
namespace {

constexpr Duration kShutdownGrace = std::chrono::seconds(1);
// From accepting a connection to a stream whose caller has proved itself.
constexpr Duration kProofTimeout = std::chrono::seconds(10);

class Connection;

// What connections share; outlives the service in callbacks in flight.
struct Hub {
  Hub(EventLoop& loop, CoordinatorService::Events events, uint32_t term)
      : loop(loop), events(std::move(events)), term(term) {}

  EventLoop& loop;
  const CoordinatorService::Events events;
  const uint32_t term;
  std::atomic<bool> alive = true;
  Mutex mutex;
  std::unordered_map<ConnectionId, Connection*> connections ABSL_GUARDED_BY(mutex);  // entered and left under `mutex`
  uint64_t last_id ABSL_GUARDED_BY(mutex) = 0;
  MonotonicTime log_refusals_again ABSL_GUARDED_BY(mutex){};

  // The loop has handled what came before.
  void ReadNext(ConnectionId id);
};

// A stream that ends at once, with a constant: strangers learn nothing. Deletes itself in OnDone.
class Refusal final : public grpc::ServerBidiReactor<v1::NodeMessage, v1::CoordinatorMessage> {
 public:
  Refusal() { Finish(grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "refused")); }
  void OnDone() override { delete this; }
};

bool IsOfAnotherRelease(const v1::NodeMessage& message) {
  return message.has_join() && message.join().protocol_version() != contract::kProtocolVersion;
}

// One node's stream; gRPC calls the On... functions, deletes itself in OnDone.
class Connection final : public grpc::ServerBidiReactor<v1::NodeMessage, v1::CoordinatorMessage> {
 public:
  Connection(std::shared_ptr<Hub> hub, grpc::CallbackServerContext* context) : hub_(std::move(hub)), context_(context) {
    const MutexLock made(mutex_);  // hands what is made here to the threads of the callbacks
    {
      const MutexLock lock(hub_->mutex);
      id_ = ConnectionId(++hub_->last_id);
      hub_->connections[id_] = this;
    }
    StartSendInitialMetadata();
    StartRead(&incoming_);
  }

  void Send(const Message& message) {
    StatusOr<v1::CoordinatorMessage> encoded = ToCoordinatorMessage(message);
    if (!encoded.ok()) return log::Error("cannot send to a node", {{"reason", encoded.status()}});
    encoded->set_term(hub_->term);
    if (!Enqueue(*std::move(encoded)))
      context_->TryCancel();  // it reads too slowly; outside of the mutex, see OnCancel
  }

  void Close() {
    const MutexLock lock(mutex_);
    closing_ = true;
    FinishWhenIdle();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Close();
    { const MutexLock lock(mutex_); }  // after the constructor, which may still run, and the read before
    StatusOr<Message> message = FromNodeMessage(incoming_);
    if (!message.ok()) {
      log::Warn("closed the stream of a node", {{"reason", message.status()}});
      // A node of another release can never join. Whatever else makes no sense ends this stream and no more: the node
      // dials again.
      if (IsOfAnotherRelease(incoming_)) Send(JoinRefused{message.status()});
      return Close();
    }
    // The next one is read when the loop has handled this one: a node that sends faster fills its own connection.
    Notify([hub = hub_, id = id_, message = *std::move(message)](const CoordinatorService::Events& events) mutable {
      events.on_message(id, std::move(message));
      hub->ReadNext(id);
    });
  }

  void Read() {
    const MutexLock lock(mutex_);
    if (!finished_) StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    queued_bytes_ -= queue_.front().ByteSizeLong();
    queue_.pop_front();
    if (!ok) {
      queue_.clear();
      closing_ = true;
    }
    if (!queue_.empty()) return StartWrite(&queue_.front());
    if (closing_) FinishWhenIdle();
  }

  void OnCancel() override { Close(); }

  void OnDone() override {
    { const MutexLock lock(mutex_); }  // after whatever the other callbacks did
    {
      const MutexLock lock(hub_->mutex);
      hub_->connections.erase(id_);
    }
    Notify([id = id_](const CoordinatorService::Events& events) { events.on_closed(id); });
    delete this;
  }

 private:
  template <typename Call>
  void Notify(Call call) {
    if (!hub_->alive) return;
    hub_->loop.Post([hub = hub_, call = std::move(call)]() mutable {
      if (hub->alive) call(hub->events);
    });
  }

  // False: too much waits.
  bool Enqueue(v1::CoordinatorMessage message) {
    const MutexLock lock(mutex_);
    if (closing_) return true;
    const size_t bytes = message.ByteSizeLong();
    if (queue_.size() >= CoordinatorService::kUnsentMax ||
        (!queue_.empty() && queued_bytes_ + bytes > CoordinatorService::kUnsentBytesMax)) {
      closing_ = true;
      queue_.resize(1);  // the one being written
      return false;
    }
    queued_bytes_ += bytes;
    queue_.push_back(std::move(message));
    if (queue_.size() == 1) StartWrite(&queue_.front());
    return true;
  }

  void FinishWhenIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (finished_ || !queue_.empty()) return;
    finished_ = true;
    Finish(grpc::Status::OK);
  }

  const std::shared_ptr<Hub> hub_;
  grpc::CallbackServerContext* const context_;  // lives until OnDone
  ConnectionId id_;
  v1::NodeMessage incoming_;
  Mutex mutex_;
  std::deque<v1::CoordinatorMessage> queue_ ABSL_GUARDED_BY(mutex_);  // the first is being written
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

void Hub::ReadNext(ConnectionId id) {
  const MutexLock lock(mutex);
  const auto it = connections.find(id);
  if (it != connections.end()) it->second->Read();
}

class Attendance final : public v1::Coordinator::CallbackService {
 public:
  Attendance(std::shared_ptr<Hub> hub, ControlSecurity security)
      : hub_(std::move(hub)), security_(std::move(security)) {}

  // Before the first caller.
  void SetPort(GrpcPort& port) { port_ = &port; }

  grpc::ServerBidiReactor<v1::NodeMessage, v1::CoordinatorMessage>* Attend(
      grpc::CallbackServerContext* context) override {
    Status welcome = CheckCaller(security_, *context);
    if (welcome.ok() && Full()) {
      welcome = Error(StatusCode::kResourceExhausted, "too many nodes are connected to the coordinator");
    }
    if (welcome.ok()) {
      port_->Proved(context->peer());
      return new Connection(hub_, context);  // deletes itself
    }
    LogRefusal(context->peer(), welcome);
    return new Refusal;  // likewise
  }

 private:
  bool Full() {
    const MutexLock lock(hub_->mutex);
    return hub_->connections.size() >= CoordinatorService::kConnectionsMax;
  }

  // At most a line each second, whatever strangers do.
  void LogRefusal(const std::string& from, const Status& reason) {
    const MonotonicTime now = hub_->loop.time().Now();
    {
      const MutexLock lock(hub_->mutex);
      if (now < hub_->log_refusals_again) return;
      hub_->log_refusals_again = now + std::chrono::seconds(1);
    }
    log::Warn("refused a node", {{"from", from}, {"reason", reason}});
  }

  const std::shared_ptr<Hub> hub_;
  const ControlSecurity security_;
  GrpcPort* port_ = nullptr;
};

class GrpcService final : public CoordinatorService {
 public:
  GrpcService(EventLoop& loop, Events events, const ControlSecurity& security, uint32_t term)
      : security_(security), hub_(std::make_shared<Hub>(loop, std::move(events), term)), attendance_(hub_, security) {}

  ~GrpcService() override {
    hub_->alive = false;
    if (server_ == nullptr) return;
    port_->Close();
    server_->Shutdown(SystemTime().WallNow() + kShutdownGrace);
    server_->Wait();
  }

  Status Listen(const std::string& bind_address, uint16_t port) {
    RETURN_IF_ERROR(CheckListenAddress(bind_address, security_.token, security_.tls_directory));
    const std::string host = bind_address.find(':') == std::string::npos ? bind_address : "[" + bind_address + "]";
    ASSIGN_OR_RETURN(const auto credentials, ListenerCredentials(security_));
    grpc::ServerBuilder builder;
    ASSIGN_OR_RETURN(
        port_, GrpcPort::Bind(
                   {.host = bind_address, .port = port, .strangers_max = kStrangersMax, .proof_timeout = kProofTimeout},
                   builder, credentials, time_));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
    // A node has one stream; before its certificate has been seen it has little time.
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 5'000);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 4);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 30'000);  // one without a stream
    builder.SetMaxReceiveMessageSize(static_cast<int>(kControlMessageBytesMax));
    builder.RegisterService(&attendance_);
    attendance_.SetPort(*port_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return Error(StatusCode::kUnavailable, "cannot serve at " + host + ":" + std::to_string(port));
    }
    port_->Open();
    address_ = host + ":" + std::to_string(port_->port());
    return OkStatus();
  }

  void Send(ConnectionId to, const Message& message) override {
    const MutexLock lock(hub_->mutex);
    const auto it = hub_->connections.find(to);
    if (it != hub_->connections.end()) it->second->Send(message);
  }
  void Close(ConnectionId connection) override {
    const MutexLock lock(hub_->mutex);
    const auto it = hub_->connections.find(connection);
    if (it != hub_->connections.end()) it->second->Close();
  }
  const std::string& address() const override { return address_; }

 private:
  const ControlSecurity security_;
  const std::shared_ptr<Hub> hub_;
  Attendance attendance_;
  const SystemTime time_;
  std::unique_ptr<GrpcPort> port_;  // used by streams of the server
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace

StatusOr<std::unique_ptr<CoordinatorService>> CoordinatorService::Start(const std::string& bind_address, uint16_t port,
                                                                        EventLoop& loop, Events events,
                                                                        const ControlSecurity& security,
                                                                        uint32_t term) {
  auto service = std::make_unique<GrpcService>(loop, std::move(events), security, term);
  RETURN_IF_ERROR(service->Listen(bind_address, port));
  return service;
}

}  // namespace attune::ps
