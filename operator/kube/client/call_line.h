// Who may send the next call, and when: a token bucket with a line in front of it. First come, first served; a call
// that the server has sent away (429) comes back to its old place, and until the time that the server asked for nothing
// is sent at all. Afterwards calls go out one by one at the rate of the limit, not all at once. Pure.
#pragma once

#include <cstdint>
#include <set>

#include "base/time_source.h"
#include "operator/kube/credentials/client_config.h"

namespace attune::kube {

class CallLine {
 public:
  using Ticket = uint64_t;  // places in the line; a lower number comes first

  CallLine(CallLimit limit, MonotonicTime now);

  // A new place at the end, or the old one again.
  Ticket Join() { return Rejoin(next_ticket_++); }
  Ticket Rejoin(Ticket ticket);
  // True when the call may be sent now; it has left the line then.
  bool Take(Ticket ticket, MonotonicTime now);
  void Leave(Ticket ticket) { line_.erase(ticket); }

  // When it may be sent, if nothing changes and those before it are sent as soon as they may be.
  MonotonicTime TurnOf(Ticket ticket, MonotonicTime now) const;
  size_t waiting() const { return line_.size(); }

  // The server sends calls away until then.
  void CloseUntil(MonotonicTime until, MonotonicTime now);
  MonotonicTime closed_until() const { return closed_until_; }

 private:
  double TokensAt(MonotonicTime now) const;
  bool has_limit() const { return limit_.per_second > 0; }

  const CallLimit limit_;
  std::set<Ticket> line_;
  Ticket next_ticket_ = 1;
  double tokens_;  // at `counted_at_`, which may lie ahead, at the end of a closed time
  MonotonicTime counted_at_;
  MonotonicTime closed_until_;
};

}  // namespace attune::kube
