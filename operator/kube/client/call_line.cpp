#include "operator/kube/client/call_line.h"

#include <algorithm>
#include <cmath>

namespace attune::kube {
namespace {

constexpr double kRoundingError = 1e-6;  // of a token

}  // namespace

CallLine::CallLine(CallLimit limit, MonotonicTime now)
    : limit_(limit), tokens_(std::max(limit.burst, 1)), counted_at_(now), closed_until_(now) {}

CallLine::Ticket CallLine::Rejoin(Ticket ticket) {
  line_.insert(ticket);
  return ticket;
}

double CallLine::TokensAt(MonotonicTime now) const {
  if (now <= counted_at_) return tokens_;
  return std::min<double>(std::max(limit_.burst, 1), tokens_ + limit_.per_second * Seconds(now - counted_at_));
}

bool CallLine::Take(Ticket ticket, MonotonicTime now) {
  if (now < closed_until_ || line_.empty() || *line_.begin() != ticket) return false;
  if (has_limit()) {
    const double tokens = TokensAt(now);
    if (tokens < 1 - kRoundingError) return false;
    tokens_ = std::max(tokens - 1, 0.0);
    counted_at_ = now;
  }
  line_.erase(ticket);
  return true;
}

MonotonicTime CallLine::TurnOf(Ticket ticket, MonotonicTime now) const {
  const MonotonicTime open = std::max(now, closed_until_);
  if (!has_limit()) return open;
  const auto place = static_cast<double>(std::distance(line_.begin(), line_.lower_bound(ticket)));
  const double missing = place + 1 - TokensAt(open);
  if (missing <= kRoundingError) return open;
  return open + Duration(static_cast<int64_t>(std::ceil(missing / limit_.per_second * 1e9)));
}

void CallLine::CloseUntil(MonotonicTime until, MonotonicTime now) {
  if (until <= closed_until_ || until <= now) return;
  closed_until_ = until;
  tokens_ = std::min(TokensAt(until), 1.0);
  counted_at_ = until;
}

}  // namespace attune::kube
