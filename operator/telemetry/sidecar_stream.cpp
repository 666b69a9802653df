#include "operator/telemetry/sidecar_stream.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/v1/telemetry.grpc.pb.h"
#include "base/log.h"
#include "operator/telemetry/message_allowance.h"
#include "operator/telemetry/open_directives.h"
#include "operator/telemetry/outgoing_messages.h"
#include "operator/telemetry/plausible.h"
#include "proto/contract.h"

namespace attune::telemetry {
namespace {

constexpr size_t kStreamsMax = 20'000;
constexpr size_t kDirectivesQueuedMax = 64;  // per stream
constexpr size_t kDirectivesOpenMax = 128;   // per stream, sent and not answered
constexpr Duration kCheckTimeout = std::chrono::seconds(60);

grpc::Status ToGrpc(const Status& status) {
  return {static_cast<grpc::StatusCode>(static_cast<int>(status.code())), std::string(attune::Message(status))};
}

// What a process says of a row it was to look at, as far as an honest one says.
std::vector<std::string> LinesKept(const v1::DirectiveResult& result) {
  constexpr int kLinesKept = 201;  // RowTrace::kEventsMax, and how many were left out
  constexpr size_t kLineBytesKept = 192;
  std::vector<std::string> lines;
  for (int i = 0; i < std::min(result.lines_size(), kLinesKept); ++i) {
    lines.push_back(CleanText(result.lines(i), kLineBytesKept));
  }
  return lines;
}

// The address of a peer without its port; "ipv4:10.0.0.7:41822" is what gRPC says.
std::string SourceOf(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

// The bearer token that the sidecar came with; empty: none.
std::string TokenOf(const grpc::CallbackServerContext& context) {
  constexpr std::string_view kScheme = "Bearer ";
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  if (found == metadata.end()) return "";
  const std::string_view value(found->second.data(), found->second.size());
  return value.starts_with(kScheme) ? std::string(value.substr(kScheme.size())) : "";
}

// One sidecar. One read and at most one write are in flight at a time; Finish is called exactly once, and the object
// ends itself in OnDone. Life: hello -> authentication in another thread -> reports until either side ends.
class ReactingStream final : public grpc::ServerBidiReactor<v1::SidecarMessage, v1::OperatorMessage>,
                             public SidecarStream {
 public:
  ReactingStream(SharedByStreams& shared, grpc::CallbackServerContext& context);

  void OnReadDone(bool ok) override;

  void OnWriteDone(bool ok) override;

  // The read in flight fails then and ends the stream; during authentication its answer does.
  void OnCancel() override {}

  void Cancel() override { context_.TryCancel(); }
  void Sweep(MonotonicTime now, Duration proof_timeout) override;

  void OnDone() override;

  bool Send(const v1::Directive& directive, const std::string& key) override;

 private:
  enum class Stage { kSilent, kIntroduced, kAccepted };

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
  void Record(const std::string& key, DirectiveAnswer::Outcome outcome, const std::string& message,
              std::vector<std::string> lines = {});
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
  v1::SidecarMessage incoming_;
  v1::SidecarHello hello_;
  bool implausible_logged_ = false;
  std::atomic<Stage> stage_ = Stage::kSilent;
  MessageAllowance allowance_;  // by reactions; by the sweep, with mutex_, while nothing is read

  Mutex mutex_;
  OutgoingMessages<v1::OperatorMessage> outgoing_ ABSL_GUARDED_BY(mutex_);
  OpenDirectives open_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;  // nothing is read until the allowance is back
};

ReactingStream::ReactingStream(SharedByStreams& shared, grpc::CallbackServerContext& context)
    : shared_(shared),
      context_(context),
      source_(SourceOf(context.peer())),
      began_(shared.time.Now()),
      allowance_(began_) {
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

void ReactingStream::OnReadDone(bool ok) {
  HandOver();
  if (!ok) {
    End(grpc::Status::OK);
  } else if (stage_ == Stage::kSilent) {
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

void ReactingStream::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  outgoing_.Written();
  if (ok && !ended_) StartNextWrite();
}

void ReactingStream::Sweep(MonotonicTime now, Duration proof_timeout) {
  if (stage_ != Stage::kAccepted) {
    if (now - began_ > (stage_ == Stage::kSilent ? proof_timeout : kCheckTimeout)) Cancel();
    return;
  }
  {
    const MutexLock lock(mutex_);
    if (!paused_ || allowance_.IsUsedUp(now)) return;
    paused_ = false;
  }
  StartRead(&incoming_);
}

void ReactingStream::OnDone() {
  HandOver();
  if (stage_ == Stage::kAccepted) {
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

bool ReactingStream::Send(const v1::Directive& directive, const std::string& key) {
  const MutexLock lock(mutex_);
  if (ended_ || outgoing_.waiting() >= kDirectivesQueuedMax || open_.size() >= kDirectivesOpenMax) return false;
  v1::OperatorMessage message;
  *message.mutable_directive() = directive;
  message.mutable_directive()->set_id(open_.Add(key));
  Enqueue(std::move(message));
  return true;
}

void ReactingStream::ReadNext() {
  {
    const MutexLock lock(mutex_);
    paused_ = allowance_.IsUsedUp(shared_.time.Now());
    if (paused_) return;
  }
  StartRead(&incoming_);
}

void ReactingStream::OnHello() {
  stage_ = Stage::kIntroduced;
  {
    const MutexLock lock(shared_.mutex);
    shared_.silent.Leave(number_);
  }
  if (incoming_.kind_case() != v1::SidecarMessage::kHello) {
    End({grpc::StatusCode::INVALID_ARGUMENT, "the first message of a stream is a hello"});
    return;
  }
  hello_ = incoming_.hello();
  Status status = CheckHello(hello_);
  if (status.ok()) status = shared_.store.CheckJob(JobOf(hello_));  // no call is spent on a job that is not there
  if (!status.ok()) return Refuse(status);
  if (!shared_.options.authenticate) {
    Accept();
  } else if (!shared_.calls->Post(source_, [this] { Authenticate(); })) {
    End({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many sidecars connect at once; try again later"});
  }
}

void ReactingStream::Authenticate() {
  const Status status = shared_.stopping ? Error(StatusCode::kUnavailable, "the operator is stopping")
                                         : shared_.authenticator.Check(TokenOf(context_), hello_, source_);
  if (status.ok()) {
    Accept();
  } else {
    Refuse(status);
  }
}

void ReactingStream::Accept() {
  if (const Status status = shared_.store.Connected(hello_, shared_.time.Now()); !status.ok()) return Refuse(status);
  stage_ = Stage::kAccepted;
  shared_.port->Proved(context_.peer());
  v1::OperatorMessage message;
  message.mutable_accepted()->set_protocol_version(contract::kProtocolVersion);
  message.mutable_accepted()->set_report_seconds(shared_.options.report_seconds);
  {
    // In one step. Found first, it might say something before; said first, a reconnect that follows the word could be
    // found earlier, and be taken for the older of the two.
    const MutexLock lock(shared_.mutex);
    SidecarStream*& present = shared_.accepted_by_pod[hello_.pod_uid()];
    if (present != nullptr) present->Cancel();  // a pod has one stream: a reconnect ends the one it replaces
    present = this;
    const MutexLock own_lock(mutex_);
    Enqueue(std::move(message));
  }
  StartRead(&incoming_);
}

bool ReactingStream::IsFirstOfItsSource(const Status& refusal) {
  const std::string kind = source_ + ' ' + std::to_string(static_cast<int>(refusal.code()));
  const MutexLock lock(shared_.mutex);
  if (shared_.refusals_logged.Find(kind, shared_.time.Now()) != nullptr) return false;
  shared_.refusals_logged.Add(kind, true, shared_.time.Now());
  return true;
}

void ReactingStream::Refuse(const Status& status) {
  if (IsFirstOfItsSource(status)) {
    log::Warn("sidecar refused; more of the kind from there are not logged for a minute",
              {{"source", source_}, {"pod", hello_.pod()}, {"job", hello_.job()}, {"reason", status}});
  }
  End(ToGrpc(status));
}

bool ReactingStream::OnMessage() {
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

void ReactingStream::OnResult(const v1::DirectiveResult& result) {
  constexpr size_t kMessageBytesKept = 2048;
  std::optional<std::string> key;
  {
    const MutexLock lock(mutex_);
    key = open_.Take(result.id());
  }
  if (!key) return;
  const std::string message = CleanText(result.message(), kMessageBytesKept);
  if (!result.accepted()) {
    log::Warn("directive refused", {{"pod", hello_.pod()}, {"id", result.id()}, {"reason", message}});
  }
  if (key->empty()) return;
  Record(*key, result.accepted() ? DirectiveAnswer::Outcome::kDone : DirectiveAnswer::Outcome::kRefused, message,
         LinesKept(result));
}

void ReactingStream::Named(const std::string& implausible) {
  if (implausible.empty()) return;
  ++shared_.implausible;
  if (std::exchange(implausible_logged_, true)) return;
  log::Warn("a report has parts that cannot be true; they are left out",
            {{"pod", hello_.pod()}, {"job", hello_.job()}, {"parts", implausible}});
}

std::map<uint64_t, std::string> ReactingStream::TakeKeys() {
  const MutexLock lock(mutex_);
  return open_.TakeAll();
}

void ReactingStream::Record(const std::string& key, DirectiveAnswer::Outcome outcome, const std::string& message,
                            std::vector<std::string> lines) {
  shared_.store.Answered(hello_, key,
                         {.outcome = outcome, .message = message, .at = shared_.time.Now(), .lines = std::move(lines)});
}

void ReactingStream::Enqueue(v1::OperatorMessage message) {
  outgoing_.Add(std::move(message));
  if (!ended_) StartNextWrite();
}

void ReactingStream::StartNextWrite() {
  if (const v1::OperatorMessage* next = outgoing_.Next()) StartWrite(next);
}

void ReactingStream::End(const grpc::Status& status) {
  {
    const MutexLock lock(mutex_);
    if (ended_) return;
    ended_ = true;
  }
  Finish(status);  // may end in OnDone at once: nothing of this object is touched afterwards
}

}  // namespace

grpc::ServerBidiReactor<v1::SidecarMessage, v1::OperatorMessage>* NewSidecarStream(
    SharedByStreams& shared, grpc::CallbackServerContext& context) {
  return new ReactingStream(shared, context);  // ends itself
}

}  // namespace attune::telemetry
