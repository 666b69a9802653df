#include "ps/runtime/process/open_trace.h"

#include "attune/v1/telemetry.pb.h"

namespace attune::ps {

void OpenTrace::Begin(uint64_t directive, const v1::TraceRow& asked, MonotonicTime now) {
  const double longest = Seconds(kLongest);
  if (!(asked.seconds() > 0 && asked.seconds() <= longest)) {
    const Status status =
        Error(StatusCode::kInvalidArgument, "a row is looked at for more than 0 and at most " +
                                                std::to_string(static_cast<int>(longest)) + " seconds, not for " +
                                                std::to_string(asked.seconds()));
    return answers_.Put(directive, status, "");
  }
  if (!callbacks_.begin) {
    return answers_.Put(directive, Error(StatusCode::kFailedPrecondition, "this process has no rows to look at"), "");
  }
  if (const Status status = callbacks_.begin(asked.table(), asked.key()); !status.ok()) {
    return answers_.Put(directive, status, "");
  }
  if (open_ && open_->directive != directive) {
    answers_.Put(open_->directive, Error(StatusCode::kAborted, "another row is looked at since; ask again"), "");
  }
  const std::chrono::duration<double> looked_at(asked.seconds());
  open_ = {directive, now + std::chrono::duration_cast<Duration>(looked_at)};
}

void OpenTrace::AnswerWhenDue(MonotonicTime now) {
  if (!open_ || now < open_->until) return;
  answers_.Put(open_->directive, OkStatus(), "", callbacks_.end());
  open_.reset();
}

}  // namespace attune::ps
