// The training process's side of telemetry: one thread that sends a report per window (>= 1 s) to the sidecar over a
// Unix socket and hears directives. It never blocks or slows training: the process only fills counters, and a report
// that does not fit the socket is dropped (its sequence number is used up, so the gap shows). Without a sidecar it
// tries again quietly. Framing and messages: proto/attune/v1/telemetry.proto.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "attune/ps/session.h"
#include "attune/v1/telemetry.pb.h"
#include "base/status.h"
#include "base/time_source.h"
#include "ps/runtime/process/directives.h"
#include "ps/runtime/process/open_trace.h"

namespace attune::ps {

struct ReporterOptions {
  std::string socket_path;
  std::string job_uid;
  std::string role;
  uint32_t index = 0;
  Duration window = std::chrono::seconds(1);  // at least one second outside of tests
};

class Reporter {
 public:
  struct Callbacks {
    // Closes the window and returns its figures and its duration; the rest is the reporter's to say. Called on the
    // reporter's thread, once per window.
    std::function<v1::WindowReport(MonotonicTime now)> take_window;
    // The operator asks this process to leave. An error is sent back as a refusal. Called on the reporter's thread.
    std::function<Status(const std::string& reason)> drain;
    // The operator asks that this worker computes with so many threads; empty where no worker runs. An error is sent
    // back as a refusal. Called on the reporter's thread.
    std::function<Status(uint32_t threads)> threads;
    // The operator asks something of the coordinator; empty where none can run. Called on the reporter's thread; the
    // answer may come later and from another thread.
    std::function<void(const Command& command, AnswerCommand answer)> command;
    // The operator asks what happens to a row; empty where there are none.
    TraceCallbacks trace = {};
  };

  // Starts the thread; an absent sidecar is no error. `time` must outlive the reporter. Null when `socket_path` is
  // empty.
  static std::unique_ptr<Reporter> Start(const ReporterOptions& options, const TimeSource& time, Callbacks callbacks);
  // Sends the last window if the socket takes it at once, then ends the thread.
  virtual ~Reporter() = default;

  // Hands the job's result to the sidecar, after the window so far. Waits for the sidecar at most `timeout`:
  // Unavailable when it was not there in time.
  virtual Status Finish(const FinalResult& result, Duration timeout) = 0;

  // Something is to be known at once: ends the window early, though not before kSoon. Any thread.
  virtual void ReportSoon() = 0;
  static constexpr Duration kSoon = std::chrono::milliseconds(100);
};

}  // namespace attune::ps
