#include "operator/kube/client/call_pacer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/kube/client/api_error.h"

namespace attune::kube {
namespace {

// Of one wait of the operating system's. The shortest is for those behind a call whose turn it is and whose thread has
// not woken up yet.
constexpr Duration kShortestTurnWait = std::chrono::milliseconds(1), kLongestTurnWait = std::chrono::minutes(1);

}  // namespace

CallPacer::CallPacer(CallLimit limit, const TimeSource& time) : limit_(limit), time_(time), line_(limit, time.Now()) {}

StatusOr<CallLine::Ticket> CallPacer::Wait(MonotonicTime deadline, std::optional<CallLine::Ticket> again) {
  const MutexLock lock(mutex_);
  const CallLine::Ticket ticket = again ? line_.Rejoin(*again) : line_.Join();
  while (true) {
    const MonotonicTime now = time_.Now();
    if (line_.Take(ticket, now)) {
      changed_.NotifyAll();
      return ticket;
    }
    const MonotonicTime turn = line_.TurnOf(ticket, now);
    if (turn > deadline) {
      const Status late = TooLate(turn, now);
      line_.Leave(ticket);
      changed_.NotifyAll();
      return late;
    }
    changed_.WaitFor(mutex_, std::clamp<Duration>(turn - now, kShortestTurnWait, kLongestTurnWait));
  }
}

void CallPacer::CloseFor(Duration time) {
  const MutexLock lock(mutex_);
  const MonotonicTime now = time_.Now();
  line_.CloseUntil(now + time, now);
  changed_.NotifyAll();
}

Status CallPacer::TooLate(MonotonicTime turn, MonotonicTime now) const {
  std::string why;
  if (line_.closed_until() > now) {
    why = "the API server asked this client (429) to send nothing for another " +
          std::to_string(std::chrono::ceil<std::chrono::seconds>(line_.closed_until() - now).count()) + " s";
  } else {
    why = absl::StrCat(line_.waiting() - 1, " other calls wait, and this client sends ", limit_.per_second,
                       " a second (attune-operator: --kube-qps)");
  }
  Status status = Error(StatusCode::kUnavailable, "not sent: " + why + ", which is later than the call's deadline");
  SetRetryAfter(status, turn - now);
  return status;
}

}  // namespace attune::kube
