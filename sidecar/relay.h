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
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attune/v1/telemetry.pb.h"
#include "base/random.h"
#include "base/status.h"
#include "base/time_source.h"

namespace attune::sidecar {

struct RelayOptions {
  v1::SidecarHello identity;        // protocol_version included
  bool operator_configured = true;  // false: metrics only, no stream is ever opened
  size_t windows_max = 300;         // five minutes of one-second windows
  uint64_t seed = 1;                // of the jitter
};

inline constexpr Duration kFirstRetry = std::chrono::milliseconds(200);  // after a stream that lasted
inline constexpr Duration kBackoffMin = std::chrono::milliseconds(500);
// No process listens, or none can be reached: another replica of the operator may lead at any moment.
inline constexpr Duration kBackoffUnreachableMax = std::chrono::seconds(1);
inline constexpr Duration kBackoffMax = std::chrono::seconds(30);
// A stream that lived this long after `Accepted` is tried again at once; one that breaks sooner keeps the backoff.
inline constexpr Duration kStableStream = std::chrono::seconds(10);
inline constexpr Duration kAcceptTimeout = std::chrono::seconds(10);    // from opening the stream to `Accepted`
inline constexpr Duration kSendTimeout = std::chrono::seconds(30);      // of one message up
inline constexpr Duration kTerminateTimeout = std::chrono::seconds(2);  // from SIGTERM to the end
inline constexpr size_t kOpenDirectivesMax = 32;                        // handed to the process and not answered yet

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
  MonotonicTime connect_at() const { return connect_at_; }  // meaningful while no stream is open
  size_t buffered_reports() const { return reports_.size(); }
  uint64_t sent_reports() const { return sent_reports_; }
  uint64_t dropped_reports() const { return dropped_reports_; }

 private:
  enum class Process { kNone, kGreeting, kAccepted };
  enum class Stream { kDown, kGreeting, kAccepted };

  void OnProcessMessage(const ProcessSaid& said, MonotonicTime now, RelayOutput& out);
  void OnHello(const v1::ProcessHello& hello, RelayOutput& out);
  void OnWindow(const ProcessSaid& said, MonotonicTime now);
  void OnOperatorMessage(const v1::OperatorMessage& message, MonotonicTime now, RelayOutput& out);
  void OnDirective(const v1::Directive& directive, RelayOutput& out);
  void PassOn(const v1::Directive& directive, RelayOutput& out);
  void OnProcessGone(const std::string& reason);
  void OnStreamEnded(const Status& status, MonotonicTime now);

  void RefuseProcess(std::string reason, RelayOutput& out);
  void Answer(uint64_t stream_directive_id, bool accepted, std::string message);
  void Buffer(v1::PodReport report);
  void FlushHeld();
  void DropStream(MonotonicTime now);
  bool ShouldConnect(MonotonicTime now) const;
  bool UndeliveredData() const;
  void Advance(MonotonicTime now, RelayOutput& out);
  void CheckTimeouts(MonotonicTime now, RelayOutput& out);
  std::optional<v1::SidecarMessage> NextMessage();
  void Send(v1::SidecarMessage message, MonotonicTime now, RelayOutput& out);
  bool Delivered() const;

  const RelayOptions options_;
  Random random_;

  Process process_ = Process::kNone;

  Stream stream_ = Stream::kDown;
  MonotonicTime connect_at_{};        // while down
  MonotonicTime accept_by_ = kNever;  // while exchange
  MonotonicTime accepted_at_{};
  Duration backoff_ = kBackoffMin;  // before the next jitter
  std::optional<v1::SidecarMessage> under_way_;
  MonotonicTime send_by_ = kNever;
  bool half_closed_ = false;

  Duration report_interval_{};         // as the operator asked
  MonotonicTime buffered_at_{};        // when a window last went into the buffer
  std::optional<v1::PodReport> held_;  // newest window that came sooner than the operator wants one
  std::string lease_reported_;         // of the coordinator, by the window that went into the buffer last
  std::deque<v1::PodReport> reports_;
  std::deque<v1::DirectiveResult> results_;
  std::map<uint64_t, uint64_t> open_directives_;  // id given to the process -> id on the stream
  // Came before the process had connected: a worker asked to leave while it starts. Kept across streams.
  std::vector<v1::Directive> awaiting_process_;
  uint64_t next_directive_id_ = 1;
  std::optional<v1::FinalReport> final_report_;
  bool final_sent_ = false;  // on the present stream
  bool final_delivered_ = false;
  uint64_t sent_reports_ = 0;
  uint64_t dropped_reports_ = 0;

  MonotonicTime finish_by_ = kNever;  // set by TerminateAsked
};

}  // namespace attune::sidecar
