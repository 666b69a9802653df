#include "ps/runtime/process/reporter.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "base/os/file_descriptor.h"
#include "proto/contract.h"
#include "ps/runtime/process/final_report.h"
#include "ps/runtime/process/pending_final.h"
#include "ps/runtime/process/unix_socket.h"

namespace attune::ps {
namespace {

constexpr Duration kReconnect = std::chrono::milliseconds(500);
constexpr Duration kAfterRefusal = std::chrono::seconds(30);  // its sidecar may be replaced by one that accepts

class SocketReporter final : public Reporter {
 public:
  SocketReporter(const ReporterOptions& options, const TimeSource& time, Callbacks callbacks)
      : options_(options),
        time_(time),
        callbacks_(std::move(callbacks)),
        wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        answers_(std::make_shared<AnswerBox>([this] { Wake(); })) {
    thread_ = std::thread([this] { Run(); });
  }

  ~SocketReporter() override {
    answers_->Close();
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    Wake();
    thread_.join();
  }

  Status Finish(const FinalResult& result, Duration timeout) override {
    v1::ProcessMessage message;
    *message.mutable_final() = MakeFinalReport(result);
    if (const std::string& left_out = message.final().left_out(); !left_out.empty()) {
      log::Warn("parts of the result cannot be reported; the rest is", {{"left_out", left_out}});
    }
    const MutexLock lock(mutex_);
    final_.Put(message.SerializeAsString());
    Wake();
    const auto delivered = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return final_.delivered(); };
    if (delivered_.WaitFor(mutex_, timeout, delivered)) return OkStatus();
    final_.GiveUp();
    return Error(StatusCode::kUnavailable, "the job's result did not reach the sidecar at '" + options_.socket_path +
                                               "' in time; the operator will not show it");
  }

  void ReportSoon() override {
    if (!soon_.exchange(true)) Wake();
  }

 private:
  void Wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }

  void Run() {
    MonotonicTime last_window = time_.Now(), next_window = last_window + options_.window;
    MonotonicTime next_connect{};
    for (;;) {
      const MonotonicTime now = time_.Now();
      if (!socket_.connected() && now >= next_connect) {
        const bool refused = std::exchange(refused_, false);
        next_connect = now + (refused ? kAfterRefusal : kReconnect);
        if (!refused) Greet();
      }
      if (soon_.exchange(false)) next_window = std::min(next_window, std::max(now, last_window + kSoon));
      const bool stopping = Stopping();
      const bool final_waits = FinalWaits();
      if (now >= next_window || stopping || final_waits) {
        SendWindow(now);
        last_window = now;
        next_window = now + options_.window;
      }
      trace_.AnswerWhenDue(now);
      SendAnswers();
      SendFinal();
      if (stopping) return;
      const MonotonicTime next = std::min(next_window, trace_.due());
      WaitForEvents(socket_.connected() ? next : std::min(next, next_connect));
    }
  }

  bool Stopping() {
    const MutexLock lock(mutex_);
    return stopping_;
  }

  bool FinalWaits() {
    const MutexLock lock(mutex_);
    return final_.Waits() && socket_.connected();
  }

  void Greet() {
    if (!socket_.Connect(options_.socket_path).ok()) return;
    v1::ProcessMessage message;
    v1::ProcessHello* hello = message.mutable_hello();
    hello->set_protocol_version(contract::kProtocolVersion);
    hello->set_job_uid(options_.job_uid);
    hello->set_role(options_.role);
    hello->set_index(options_.index);
    hello->set_process_id(::getpid());
    (void)socket_.Send(message.SerializeAsString());
  }

  void SendWindow(MonotonicTime now) {
    v1::ProcessMessage message;
    v1::WindowReport* report = message.mutable_window();
    *report = callbacks_.take_window(now);
    report->set_sequence(++sequence_);
    report->set_end_unix_seconds(Seconds(time_.WallNow().time_since_epoch()));
    if (socket_.connected()) (void)socket_.Send(message.SerializeAsString());
  }

  void SendFinal() {
    const MutexLock lock(mutex_);
    if (final_.Send(socket_)) delivered_.NotifyAll();
  }

  void WaitForEvents(MonotonicTime until) {
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - time_.Now());
    const auto events = static_cast<short>(POLLIN | (socket_.has_unsent() ? POLLOUT : 0));
    pollfd polled[2] = {{wake_.get(), POLLIN, 0}, {socket_.fd(), events, 0}};
    const int count = socket_.connected() ? 2 : 1;
    ::poll(polled, static_cast<nfds_t>(count), static_cast<int>(std::clamp<int64_t>(wait.count(), 0, 60'000)));
    if ((polled[0].revents & POLLIN) != 0) {
      uint64_t ignored;
      [[maybe_unused]] const ssize_t n = ::read(wake_.get(), &ignored, sizeof ignored);
    }
    if (count == 2 && (polled[1].revents & POLLOUT) != 0) (void)socket_.WriteSome();
    if (socket_.connected() && count == 2 && (polled[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      (void)socket_.ReadSome([this](std::string_view message) { OnDirective(message); });
    }
    if (!socket_.connected()) {
      const MutexLock lock(mutex_);
      final_.OnConnectionLost();
    }
  }

  void OnDirective(std::string_view bytes) {
    v1::ProcessDirective message;
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      log::Warn("sidecar sent a message that cannot be read; telemetry continues");
      return;
    }
    if (message.has_refused()) {
      refused_ = true;
      log::Warn("sidecar refused this process; training continues without telemetry, which is tried again in 30 s",
                {{"reason", message.refused().reason()}});
    } else if (message.has_directive()) {
      Carry(message.directive());
    }
  }

  void Carry(const v1::Directive& directive) {
    const uint64_t id = directive.id();
    if (directive.has_drain()) return answers_->Put(id, callbacks_.drain(directive.drain().reason()), "");
    if (directive.has_set_threads()) {
      const Status reported = callbacks_.threads
                                  ? callbacks_.threads(directive.set_threads().threads())
                                  : Error(StatusCode::kFailedPrecondition, "this process is not a worker");
      return answers_->Put(id, reported, "from the next step on");
    }
    if (directive.has_trace_row()) return trace_.Begin(id, directive.trace_row(), time_.Now());
    StatusOr<Command> command = ToCommand(directive);
    if (command.ok() && !callbacks_.command) {
      command = Error(StatusCode::kFailedPrecondition, "this process does not run the job's coordinator");
    }
    if (!command.ok()) return answers_->Put(id, command.status(), "");
    // The coordinator may answer when this reporter is gone.
    callbacks_.command(*command, [answers = answers_, id](const Status& status, const std::string& text) {
      answers->Put(id, status, text);
    });
  }

  // An answer that does not fit the socket is lost; the operator asks again.
  void SendAnswers() {
    for (AnswerBox::Answer& answer : answers_->TakeAll()) {
      v1::ProcessMessage message;
      v1::DirectiveResult* result = message.mutable_directive_result();
      result->set_id(answer.directive);
      result->set_accepted(answer.accepted);
      result->set_message(std::move(answer.text));
      for (std::string& line : answer.lines) result->add_lines(std::move(line));
      if (socket_.connected()) (void)socket_.Send(message.SerializeAsString());
    }
  }

  const ReporterOptions options_;
  const TimeSource& time_;
  const Callbacks callbacks_;
  const FileDescriptor wake_;
  const std::shared_ptr<AnswerBox> answers_;
  std::atomic<bool> soon_ = false;

  // Of the thread.
  UnixSocket socket_;
  uint64_t sequence_ = 0;
  bool refused_ = false;
  OpenTrace trace_{callbacks_.trace, *answers_};

  Mutex mutex_;
  CondVar delivered_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  PendingFinal final_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace

std::unique_ptr<Reporter> Reporter::Start(const ReporterOptions& options, const TimeSource& time, Callbacks callbacks) {
  if (options.socket_path.empty()) return nullptr;
  return std::make_unique<SocketReporter>(options, time, std::move(callbacks));
}

}  // namespace attune::ps
