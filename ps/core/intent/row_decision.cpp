#include "ps/core/intent/row_decision.h"

#include <algorithm>
#include <cmath>

namespace attune::ps {
namespace {

constexpr double kWorthwhile = 0.8;  // of the cost of leaving it as it is

// Reads and writes of all nodes, per second.
RowUse RatesOf(std::span<const RowInterest> interests) {
  RowUse rates;
  for (const RowInterest& interest : interests) {
    if (interest.seconds <= 0) continue;
    rates.reads += interest.use.reads / interest.seconds;
    rates.writes += interest.use.writes / interest.seconds;
  }
  return rates;
}

RowUse Without(RowUse all, const RowInterest& one) {
  if (one.seconds <= 0) return all;
  return {.reads = std::max(0.0, all.reads - one.use.reads / one.seconds),
          .writes = std::max(0.0, all.writes - one.use.writes / one.seconds)};
}

// A copy that is announced no more: a refresh costs what fetching the row again does, so one that was of no use is the
// most that may be paid.
RowPlace Unannounced(const RowInterest& interest) {
  const bool is_kept = interest.place == RowPlace::kReplicated && interest.refreshes_since_use == 0;
  return is_kept ? RowPlace::kReplicated : RowPlace::kLeft;
}

// Of so many flushes, those that have something to send, when the writes fall between them at random.
double Filled(double flushes, double writes) { return flushes <= 0 ? 0 : flushes * -std::expm1(-writes / flushes); }

RowPlace Cheapest(const RowInterest& interest, const RowCosts& costs, bool may_replicate, bool may_own) {
  const auto is_possible = [&](RowPlace place) {
    return place == RowPlace::kLeft || (place == RowPlace::kReplicated ? may_replicate : may_own);
  };
  const bool may_stay = is_possible(interest.place);
  RowPlace best = may_stay ? interest.place : RowPlace::kLeft;
  double limit = costs.Of(best) * (may_stay ? kWorthwhile : 1);
  for (const RowPlace place : {RowPlace::kLeft, RowPlace::kReplicated, RowPlace::kOwned}) {
    if (!is_possible(place) || costs.Of(place) >= limit) continue;
    best = place;
    limit = costs.Of(place);
  }
  return best;
}

}  // namespace

RowCosts CostsOf(const RowInterest& interest, RowUse elsewhere, RowBytes row, const AccessCosts& costs) {
  const double flushes = costs.flushes_per_second * interest.seconds;
  const double reads_elsewhere = elsewhere.reads * interest.seconds;
  const double writes_elsewhere = elsewhere.writes * interest.seconds;
  const RowUse& use = interest.use;
  const double remote = costs.Remote(row);
  const double copy = costs.Copy(row);
  RowCosts total;
  const double waits = std::min(use.reads - 1, use.writes);
  total.left = (use.reads + use.writes) * remote + std::max(0.0, waits) * costs.seconds_per_wait;
  total.replicated = (Filled(flushes, use.writes) + Filled(flushes, writes_elsewhere)) * copy;
  total.owned =
      Filled(flushes, use.writes + writes_elsewhere) * copy + 2 * (reads_elsewhere + writes_elsewhere) * remote;
  if (interest.place == RowPlace::kLeft) total.replicated += copy;
  if (interest.place != RowPlace::kOwned) total.owned += 1.5 * copy;
  return total;
}

RowCosts CostsAmong(std::span<const RowInterest> interests, const RowInterest& one, RowBytes row,
                    const NodeCosts& costs) {
  return CostsOf(one, Without(RatesOf(interests), one), row, costs.Of(one.node));
}

void DecideRow(std::span<RowInterest> interests, RowBytes row, RowRules rules, const NodeCosts& costs) {
  const auto announced = std::ranges::count_if(interests, [](const RowInterest& i) { return !i.use.empty(); });
  const RowUse all = RatesOf(interests);
  bool is_owned = false;
  for (RowInterest& interest : interests) {
    if (interest.use.empty()) continue;
    const RowCosts total = CostsOf(interest, Without(all, interest), row, costs.Of(interest.node));
    interest.place = Cheapest(interest, total, rules.may_replicate, rules.may_own && announced == 1);
    is_owned = is_owned || interest.place == RowPlace::kOwned;
  }
  for (RowInterest& interest : interests) {
    if (!interest.use.empty()) continue;
    // An owner keeps the row until another node announces it: the way back costs the same later.
    if (interest.place == RowPlace::kOwned && announced == 0) continue;
    interest.place = is_owned ? RowPlace::kLeft : Unannounced(interest);
  }
}

}  // namespace attune::ps
