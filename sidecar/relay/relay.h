// The sidecar's protocol as a state machine: what the training process and the operator say goes in, what to send them
// comes out. No sockets, no clock, no threads; sidecar/agent.cpp is the shell around it.
//
// Towards the process: a hello is checked against this pod's identity before anything else is taken.
// Towards the operator: one stream. It opens with a hello, carries data only after `Accepted`, and has at most one
// message in flight, so that a slow operator fills the buffer here and nothing else.
//
// Promises (tests/sidecar/relay_test.cpp):
//   1. Memory is bounded: at most `windows_max` windows wait; the oldest gives way, and the count is reported.
//   2. The final report is sent on every stream until one ended cleanly after it.
//   3. Every directive is answered on the stream it came from, or that stream is gone.
//   4. Nothing the operator does or fails to do closes the process's connection.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attune/v1/telemetry.pb.h"
#include "base/status.h"
#include "base/time_source.h"
#include "sidecar/relay/final_delivery.h"
#include "sidecar/relay/open_directives.h"
#include "sidecar/relay/reconnect_backoff.h"
#include "sidecar/relay/report_buffer.h"

namespace attune::sidecar {

struct RelayOptions {
  v1::SidecarHello identity;        // protocol_version included
  bool operator_configured = true;  // false: metrics only, no stream is ever opened
  size_t windows_max = 300;         // five minutes of one-second windows
  uint64_t seed = 1;                // of the jitter
};

// A stream that lived this long after `Accepted` is tried again at once; one that breaks sooner keeps the backoff.
inline constexpr Duration kStableStream = std::chrono::seconds(10);
inline constexpr Duration kAcceptTimeout = std::chrono::seconds(10);    // from opening the stream to `Accepted`
inline constexpr Duration kSendTimeout = std::chrono::seconds(30);      // of one message up
inline constexpr Duration kTerminateTimeout = std::chrono::seconds(2);  // from SIGTERM to the end

// --- what can happen

struct ProcessConnected {};  // a new connection; an older one is over
struct ProcessSaid {
  v1::ProcessMessage message;
  std::optional<v1::ProcessUsage> usage;  // measured when a window arrived
};
struct ProcessGone {};
struct OperatorSaid {
  v1::OperatorMessage message;
};
struct MessageSent {};  // the last `to_operator` is on its way; the next may follow
struct StreamEnded {
  Status status;
};
struct TerminateAsked {};
struct Tick {};
using RelayInput = std::variant<ProcessConnected, ProcessSaid, ProcessGone, OperatorSaid, MessageSent, StreamEnded,
                                TerminateAsked, Tick>;

// --- what to do, in the order of the fields

struct RelayOutput {
  std::vector<v1::ProcessDirective> to_process;
  std::string refusal;  // why the process is sent away; for the log
  bool close_process = false;
  bool cancel_stream = false;  // no StreamEnded follows for a stream that was cancelled
  bool open_stream = false;
  std::optional<v1::SidecarMessage> to_operator;  // MessageSent or StreamEnded follows
  bool end_stream = false;                        // half-close; StreamEnded follows when the operator has read all
  bool finished = false;                          // all is said; end the program
};

// Empty when the process belongs to this pod and speaks this protocol.
std::string WhyRefused(const v1::ProcessHello& hello, const v1::SidecarHello& identity);

class Relay {
 public:
  explicit Relay(RelayOptions options);

  RelayOutput Step(const RelayInput& input, MonotonicTime now);
  // Latest time by which Step must be called again (with a Tick); kNever when nothing is timed.
  MonotonicTime next_wake() const;

  bool process_accepted() const { return process_ == Process::kAccepted; }
  bool stream_accepted() const { return stream_ == Stream::kAccepted; }
  MonotonicTime connect_at() const { return reconnect_.at(); }  // meaningful while no stream is open
  size_t buffered_reports() const { return reports_.size(); }
  uint64_t sent_reports() const { return reports_.sent(); }
  uint64_t dropped_reports() const { return reports_.dropped(); }

 private:
  enum class Process { kNone, kGreeting, kAccepted };
  enum class Stream { kDown, kGreeting, kAccepted };

  void OnProcessMessage(const ProcessSaid& said, MonotonicTime now, RelayOutput& out);
  void OnHello(const v1::ProcessHello& hello, RelayOutput& out);
  void OnWindow(const ProcessSaid& said, MonotonicTime now);
  void OnOperatorMessage(const v1::OperatorMessage& message, MonotonicTime now, RelayOutput& out);
  void OnDirective(const v1::Directive& directive, RelayOutput& out);
  void OnProcessGone(const std::string& reason);
  void OnStreamEnded(const Status& status, MonotonicTime now);

  void RefuseProcess(std::string reason, RelayOutput& out);
  void Answer(uint64_t stream_directive_id, bool accepted, std::string message);
  void Answer(v1::DirectiveResult result);
  void DropStream(MonotonicTime now);
  bool ShouldConnect(MonotonicTime now) const;
  bool UndeliveredData() const;
  void Advance(MonotonicTime now, RelayOutput& out);
  void CheckTimeouts(MonotonicTime now, RelayOutput& out);
  std::optional<v1::SidecarMessage> NextMessage();
  void Send(v1::SidecarMessage message, MonotonicTime now, RelayOutput& out);
  bool Delivered() const;

  const RelayOptions options_;

  Process process_ = Process::kNone;
  OpenDirectives directives_;
  ReportBuffer reports_;
  FinalDelivery final_;

  Stream stream_ = Stream::kDown;
  ReconnectBackoff reconnect_;        // while down
  MonotonicTime accept_by_ = kNever;  // while the hello is not answered
  MonotonicTime accepted_at_{};
  std::deque<v1::DirectiveResult> results_;
  std::optional<v1::SidecarMessage> in_flight_;
  MonotonicTime send_by_ = kNever;
  bool half_closed_ = false;

  MonotonicTime finish_by_ = kNever;  // set by TerminateAsked
};

}  // namespace attune::sidecar
