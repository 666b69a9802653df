#include "sidecar/relay.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace attune::sidecar {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

// A window that comes a little early still counts as on time.
constexpr double kEarlyShare = 0.9;

v1::ProcessDirective MakeRefusal(const std::string& reason) {
  v1::ProcessDirective answer;
  answer.mutable_refused()->set_reason(reason);
  return answer;
}

}  // namespace

std::string WhyRefused(const v1::ProcessHello& hello, const v1::SidecarHello& identity) {
  if (hello.protocol_version() != identity.protocol_version()) {
    return "the process speaks telemetry protocol " + std::to_string(hello.protocol_version()) + ", this sidecar " +
           std::to_string(identity.protocol_version()) + "; use images of the same release";
  }
  if (hello.job_uid() != identity.job_uid()) {
    return "the process belongs to job id '" + hello.job_uid() + "', this sidecar to '" + identity.job_uid() + "'";
  }
  if (hello.role() != identity.role() || hello.index() != identity.index()) {
    return "the process is " + hello.role() + " " + std::to_string(hello.index()) + ", this sidecar belongs to " +
           identity.role() + " " + std::to_string(identity.index());
  }
  return "";
}

Relay::Relay(RelayOptions options) : options_(std::move(options)), random_(options_.seed) {}

RelayOutput Relay::Step(const RelayInput& input, MonotonicTime now) {
  RelayOutput out;
  std::visit(Overloaded{
                 [&](const ProcessConnected&) {
                   OnProcessGone("the training process connected again before answering");
                   process_ = Process::kGreeting;
                 },
                 [&](const ProcessSaid& said) { OnProcessMessage(said, now, out); },
                 [&](const ProcessGone&) { OnProcessGone("the training process ended before answering"); },
                 [&](const OperatorSaid& said) { OnOperatorMessage(said.message, now, out); },
                 [&](const MessageSent&) {
                   under_way_.reset();
                   send_by_ = kNever;
                 },
                 [&](const StreamEnded& ended) { OnStreamEnded(ended.status, now); },
                 [&](const TerminateAsked&) {
                   if (finish_by_ == kNever) finish_by_ = now + kTerminateTimeout;
                   connect_at_ = std::min(connect_at_, now);
                 },
                 [&](const Tick&) {},
             },
             input);
  CheckTimeouts(now, out);
  Advance(now, out);
  return out;
}

MonotonicTime Relay::next_wake() const {
  MonotonicTime wake = std::min(finish_by_, send_by_);
  if (!options_.operator_configured) return wake;
  if (stream_ == Stream::kDown) wake = std::min(wake, connect_at_);
  if (stream_ == Stream::kGreeting) wake = std::min(wake, accept_by_);
  return wake;
}

// --- the training process

void Relay::OnProcessMessage(const ProcessSaid& said, MonotonicTime now, RelayOutput& out) {
  const v1::ProcessMessage& message = said.message;
  if (process_ == Process::kNone) return;  // what was read from a connection that has just been refused
  if (message.kind_case() == v1::ProcessMessage::kHello) return OnHello(message.hello(), out);
  if (process_ != Process::kAccepted) return RefuseProcess("the process spoke before its hello", out);
  switch (message.kind_case()) {
    case v1::ProcessMessage::kWindow:
      return OnWindow(said, now);
    case v1::ProcessMessage::kFinal:
      final_report_ = message.final();
      final_sent_ = final_delivered_ = false;
      return;
    case v1::ProcessMessage::kDirectiveResult: {
      const auto open = open_directives_.find(message.directive_result().id());
      if (open == open_directives_.end()) return;  // of a stream that is gone
      Answer(open->second, message.directive_result().accepted(), message.directive_result().message());
      open_directives_.erase(open);
      return;
    }
    default:
      return;  // a kind of a later release
  }
}

void Relay::OnHello(const v1::ProcessHello& hello, RelayOutput& out) {
  if (process_ == Process::kAccepted) return RefuseProcess("the process said hello twice", out);
  if (std::string reason = WhyRefused(hello, options_.identity); !reason.empty()) {
    return RefuseProcess(std::move(reason), out);
  }
  process_ = Process::kAccepted;
  for (const v1::Directive& directive : std::exchange(awaiting_process_, {}))
    PassOn(directive, out);  // answered already
}

void Relay::OnWindow(const ProcessSaid& said, MonotonicTime now) {
  v1::PodReport report;
  *report.mutable_window() = said.message.window();
  if (said.usage) *report.mutable_usage() = *said.usage;
  // What a coordinator says of its right to act is waited for.
  const std::string lease = report.window().leader_lease().SerializeAsString();
  if (lease == lease_reported_ && Seconds(now - buffered_at_) < kEarlyShare * Seconds(report_interval_)) {
    held_ = std::move(report);
    return;
  }
  lease_reported_ = lease;
  held_.reset();
  buffered_at_ = now;
  Buffer(std::move(report));
}

void Relay::OnProcessGone(const std::string& reason) {
  process_ = Process::kNone;
  for (const auto& [id, stream_id] : open_directives_) Answer(stream_id, false, reason);
  open_directives_.clear();
  FlushHeld();
}

void Relay::RefuseProcess(std::string reason, RelayOutput& out) {
  out.to_process.push_back(MakeRefusal(reason));
  out.refusal = std::move(reason);
  out.close_process = true;
  OnProcessGone("the training process was refused: " + out.refusal);
}

void Relay::Buffer(v1::PodReport report) {
  if (!options_.operator_configured) return;
  reports_.push_back(std::move(report));
  while (reports_.size() > options_.windows_max) {
    reports_.pop_front();
    ++dropped_reports_;
  }
}

void Relay::FlushHeld() {
  if (!held_) return;
  Buffer(*std::move(held_));
  held_.reset();
}

// --- the operator

void Relay::OnOperatorMessage(const v1::OperatorMessage& message, MonotonicTime now, RelayOutput& out) {
  if (stream_ == Stream::kDown) return;
  if (message.kind_case() == v1::OperatorMessage::kAccepted && stream_ == Stream::kGreeting) {
    if (message.accepted().protocol_version() != options_.identity.protocol_version()) {
      out.cancel_stream = true;
      return DropStream(now);
    }
    stream_ = Stream::kAccepted;
    accepted_at_ = now;
    accept_by_ = kNever;
    const double seconds = std::clamp(message.accepted().report_seconds(), 1.0, 3600.0);
    report_interval_ = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  } else if (message.kind_case() == v1::OperatorMessage::kDirective && stream_ == Stream::kAccepted) {
    OnDirective(message.directive(), out);
  }
}

void Relay::OnDirective(const v1::Directive& directive, RelayOutput& out) {
  if (open_directives_.size() + awaiting_process_.size() >= kOpenDirectivesMax) {
    return Answer(
        directive.id(), false,
        "the training process has not answered " + std::to_string(kOpenDirectivesMax) + " earlier directives");
  }
  if (process_ != Process::kAccepted && !directive.has_drain()) {
    return Answer(directive.id(), false, "no training process is connected");
  }
  if (process_ != Process::kAccepted) {
    awaiting_process_.push_back(directive);
    return Answer(directive.id(), true, "held until the training process connects");
  }
  // Ids are unique per stream only; the process outlives streams.
  open_directives_[next_directive_id_] = directive.id();
  PassOn(directive, out);
}

void Relay::PassOn(const v1::Directive& directive, RelayOutput& out) {
  v1::ProcessDirective down;
  *down.mutable_directive() = directive;
  down.mutable_directive()->set_id(next_directive_id_++);
  out.to_process.push_back(std::move(down));
}

// Each answer belongs to a directive of the present stream, and those are bounded where they are taken; an operator
// that sends without end to a pod without process fills this queue only as fast as the stream drains it.
void Relay::Answer(uint64_t stream_directive_id, bool accepted, std::string message) {
  if (stream_ != Stream::kAccepted || results_.size() >= 2 * kOpenDirectivesMax) return;
  v1::DirectiveResult result;
  result.set_id(stream_directive_id);
  result.set_accepted(accepted);
  result.set_message(std::move(message));
  results_.push_back(std::move(result));
}

void Relay::OnStreamEnded(const Status& status, MonotonicTime now) {
  if (stream_ == Stream::kDown) return;
  // The operator ends its side cleanly only after it has read ours to the end.
  if (status.ok() && half_closed_ && final_sent_) final_delivered_ = true;
  // No operator there: asking costs next to nothing, and the operator may be back any moment.
  if (status.code() == StatusCode::kUnavailable) backoff_ = std::min(backoff_, kBackoffUnreachableMax);
  DropStream(now);
}

void Relay::DropStream(MonotonicTime now) {
  const bool was_stable = stream_ == Stream::kAccepted && now - accepted_at_ >= kStableStream;
  if (was_stable) backoff_ = kFirstRetry;
  if (under_way_ && under_way_->kind_case() == v1::SidecarMessage::kReport) {
    --sent_reports_;
    if (reports_.size() < options_.windows_max) {
      reports_.push_front(under_way_->report());
    } else {
      ++dropped_reports_;
    }
  }
  under_way_.reset();
  send_by_ = accept_by_ = kNever;
  results_.clear();
  open_directives_.clear();
  final_sent_ = false;
  half_closed_ = false;
  stream_ = Stream::kDown;
  // Half of the wait is random, so that the sidecars of a large job do not come back all at once.
  connect_at_ = now + std::chrono::duration_cast<Duration>(backoff_ * (0.5 + 0.5 * random_.Uniform()));
  backoff_ = was_stable ? kBackoffMin : std::min(2 * backoff_, kBackoffMax);
}

// --- timers and progress

void Relay::CheckTimeouts(MonotonicTime now, RelayOutput& out) {
  if ((stream_ == Stream::kGreeting && now >= accept_by_) || now >= send_by_) {
    out.cancel_stream = true;
    DropStream(now);
  }
}

bool Relay::UndeliveredData() const { return !reports_.empty() || (final_report_ && !final_delivered_); }

bool Relay::ShouldConnect(MonotonicTime now) const {
  return options_.operator_configured && stream_ == Stream::kDown && now >= connect_at_ &&
         (finish_by_ == kNever || UndeliveredData());
}

bool Relay::Delivered() const {
  if (!options_.operator_configured) return true;
  return stream_ == Stream::kDown && !UndeliveredData();
}

void Relay::Advance(MonotonicTime now, RelayOutput& out) {
  const bool ending = finish_by_ != kNever;
  if (ending && process_ == Process::kNone) FlushHeld();
  if (ending && (now >= finish_by_ || (process_ == Process::kNone && Delivered()))) {
    out.cancel_stream = out.cancel_stream || stream_ != Stream::kDown;
    out.finished = true;
    return;
  }
  if (ShouldConnect(now)) {
    stream_ = Stream::kGreeting;
    accept_by_ = now + kAcceptTimeout;
    out.open_stream = true;
    v1::SidecarMessage hello;
    *hello.mutable_hello() = options_.identity;
    return Send(std::move(hello), now, out);
  }
  if (stream_ != Stream::kAccepted || under_way_ || half_closed_) return;
  if (std::optional<v1::SidecarMessage> message = NextMessage()) return Send(*std::move(message), now, out);
  if (ending && process_ == Process::kNone) {
    half_closed_ = true;
    out.end_stream = true;
  }
}

std::optional<v1::SidecarMessage> Relay::NextMessage() {
  v1::SidecarMessage message;
  if (!results_.empty()) {
    *message.mutable_directive_result() = std::move(results_.front());
    results_.pop_front();
    return message;
  }
  if (!reports_.empty()) {
    *message.mutable_report() = std::move(reports_.front());
    reports_.pop_front();
    message.mutable_report()->set_dropped_reports(dropped_reports_);
    ++sent_reports_;
    return message;
  }
  if (final_report_ && !final_delivered_ && !final_sent_) {
    *message.mutable_final() = *final_report_;
    final_sent_ = true;
    return message;
  }
  return std::nullopt;
}

void Relay::Send(v1::SidecarMessage message, MonotonicTime now, RelayOutput& out) {
  ATTUNE_CHECK(!under_way_) << "two messages to the operator at once";
  under_way_ = message;
  send_by_ = now + kSendTimeout;
  out.to_operator = std::move(message);
}

}  // namespace attune::sidecar
