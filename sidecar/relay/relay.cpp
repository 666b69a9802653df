#include "sidecar/relay/relay.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace attune::sidecar {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

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

Relay::Relay(RelayOptions options)
    : options_(std::move(options)),
      reports_(options_.windows_max, options_.operator_configured),
      reconnect_(options_.seed) {}

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
                   in_flight_.reset();
                   send_by_ = kNever;
                 },
                 [&](const StreamEnded& ended) { OnStreamEnded(ended.status, now); },
                 [&](const TerminateAsked&) {
                   if (finish_by_ == kNever) finish_by_ = now + kTerminateTimeout;
                   reconnect_.Hurry(now);
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
  if (stream_ == Stream::kDown) wake = std::min(wake, reconnect_.at());
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
      return final_.Set(message.final());
    case v1::ProcessMessage::kDirectiveResult: {
      v1::DirectiveResult result = message.directive_result();
      const auto id = directives_.TakeAnswered(result.id());
      if (!id) return;
      result.set_id(*id);
      return Answer(std::move(result));
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
  out.to_process = directives_.TakeAwaiting();
}

void Relay::OnWindow(const ProcessSaid& said, MonotonicTime now) {
  v1::PodReport report;
  *report.mutable_window() = said.message.window();
  if (said.usage) *report.mutable_usage() = *said.usage;
  reports_.Add(std::move(report), now);
}

void Relay::OnProcessGone(const std::string& reason) {
  process_ = Process::kNone;
  for (const uint64_t id : directives_.TakeUnanswered()) Answer(id, false, reason);
  reports_.FlushHeld();
}

void Relay::RefuseProcess(std::string reason, RelayOutput& out) {
  out.to_process.push_back(MakeRefusal(reason));
  out.refusal = std::move(reason);
  out.close_process = true;
  OnProcessGone("the training process was refused: " + out.refusal);
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
    reports_.SetInterval(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)));
  } else if (message.kind_case() == v1::OperatorMessage::kDirective && stream_ == Stream::kAccepted) {
    OnDirective(message.directive(), out);
  }
}

void Relay::OnDirective(const v1::Directive& directive, RelayOutput& out) {
  if (directives_.IsFull()) {
    return Answer(
        directive.id(), false,
        "the training process has not answered " + std::to_string(OpenDirectives::kMax) + " earlier directives");
  }
  if (process_ != Process::kAccepted && !directive.has_drain()) {
    return Answer(directive.id(), false, "no training process is connected");
  }
  if (process_ != Process::kAccepted) {
    directives_.Await(directive);
    return Answer(directive.id(), true, "held until the training process connects");
  }
  out.to_process.push_back(directives_.PassOn(directive));
}

void Relay::Answer(uint64_t stream_directive_id, bool accepted, std::string message) {
  v1::DirectiveResult result;
  result.set_id(stream_directive_id);
  result.set_accepted(accepted);
  result.set_message(std::move(message));
  Answer(std::move(result));
}

// Each answer belongs to a directive of the present stream, and those are bounded where they are taken; an operator
// that sends without end to a pod without process fills this queue only as fast as the stream drains it.
void Relay::Answer(v1::DirectiveResult result) {
  if (stream_ != Stream::kAccepted || results_.size() >= 2 * OpenDirectives::kMax) return;
  results_.push_back(std::move(result));
}

void Relay::OnStreamEnded(const Status& status, MonotonicTime now) {
  if (stream_ == Stream::kDown) return;
  if (status.ok() && half_closed_) final_.OnReadToTheEnd();
  if (status.code() == StatusCode::kUnavailable) reconnect_.NoteUnreachable();
  DropStream(now);
}

void Relay::DropStream(MonotonicTime now) {
  const bool lasted = stream_ == Stream::kAccepted && now - accepted_at_ >= kStableStream;
  if (in_flight_ && in_flight_->kind_case() == v1::SidecarMessage::kReport) reports_.PutBack(in_flight_->report());
  in_flight_.reset();
  send_by_ = accept_by_ = kNever;
  results_.clear();
  directives_.ForgetUnanswered();
  final_.OnStreamGone();
  half_closed_ = false;
  stream_ = Stream::kDown;
  reconnect_.Schedule(lasted, now);
}

// --- timers and progress

void Relay::CheckTimeouts(MonotonicTime now, RelayOutput& out) {
  if ((stream_ == Stream::kGreeting && now >= accept_by_) || now >= send_by_) {
    out.cancel_stream = true;
    DropStream(now);
  }
}

bool Relay::UndeliveredData() const { return !reports_.empty() || final_.pending(); }

bool Relay::ShouldConnect(MonotonicTime now) const {
  return options_.operator_configured && stream_ == Stream::kDown && now >= reconnect_.at() &&
         (finish_by_ == kNever || UndeliveredData());
}

bool Relay::Delivered() const {
  if (!options_.operator_configured) return true;
  return stream_ == Stream::kDown && !UndeliveredData();
}

void Relay::Advance(MonotonicTime now, RelayOutput& out) {
  const bool ending = finish_by_ != kNever;
  if (ending && process_ == Process::kNone) reports_.FlushHeld();
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
  if (stream_ != Stream::kAccepted || in_flight_ || half_closed_) return;
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
  if (auto report = reports_.Take()) {
    *message.mutable_report() = *std::move(report);
    return message;
  }
  if (auto report = final_.TakeUnsent()) {
    *message.mutable_final() = *std::move(report);
    return message;
  }
  return std::nullopt;
}

void Relay::Send(v1::SidecarMessage message, MonotonicTime now, RelayOutput& out) {
  ATTUNE_CHECK(!in_flight_) << "two messages to the operator at once";
  in_flight_ = message;
  send_by_ = now + kSendTimeout;
  out.to_operator = std::move(message);
}

}  // namespace attune::sidecar
