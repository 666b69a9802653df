#include "operator/tuner/choice/decision_log.h"

#include <algorithm>
#include <utility>

namespace attune::tuner {

void DecisionLog::Judge(const Evidence& evidence, const View& view, int next, DecisionKind kind) {
  if (records_.empty() || records_.back().verdict != Verdict::kOpen) return;
  const SearchSpace& space = evidence.space();
  DecisionRecord& record = records_.back();
  const auto to = space.Find(record.to), from = space.Find(record.incumbent);
  if (!to || !from) return;
  record.windows = view.windows[static_cast<size_t>(*to)];
  if (record.windows > 0) record.measured = view.GainOver(*to, *from);
  const auto& crashed = evidence.memory().crashed();
  if (std::find(crashed.begin(), crashed.end(), *to) != crashed.end()) {
    record.verdict = Verdict::kCrashed;
  } else if (next != *to) {
    const bool back = record.kind == DecisionKind::kKeep && space.setting(next) == record.from;
    if (record.kind == DecisionKind::kTrial) {
      record.verdict = view.incumbent == *to ? Verdict::kKept : Verdict::kRejected;
    } else {
      record.verdict = back ? Verdict::kRolledBack : Verdict::kKept;
    }
  } else if (kind == DecisionKind::kKeep && record.windows >= kKnownWindows) {
    record.verdict = Verdict::kKept;
  }
}

uint64_t DecisionLog::Add(const Evidence& evidence, const View& view, DecisionKind kind, const Proposal& proposal,
                          int kept, const std::string& why) {
  const SearchSpace& space = evidence.space();
  const int base = kind == DecisionKind::kKeep          ? view.current
                   : proposal.setting == view.incumbent ? kept
                                                        : view.incumbent;
  records_.push_back({.number = next_number_++,
                      .time = evidence.progress().TimeAt(view.now),
                      .kind = kind,
                      .from = space.setting(view.current),
                      .to = space.setting(proposal.setting),
                      .incumbent = space.setting(base),
                      .why = why,
                      .predicted = proposal.gain,
                      .cost_seconds = proposal.cost,
                      .horizon_seconds = view.horizon,
                      .measured = {}});
  if (records_.size() > kRecordsMax) records_.erase(records_.begin());
  return next_number_ - 1;
}

// How much more a trial must promise than it costs: more after a row of trials that were not taken, and when a job has
// changed more often than its age warrants (noise that looks like drift would keep the search open for ever).
double DecisionLog::Caution(double age) const {
  constexpr double kFailuresFree = 6, kChanges = 12, kWindowsPerChange = 40;
  double failed = 0;
  for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
    if (record->verdict == Verdict::kKept) break;
    failed += record->kind == DecisionKind::kTrial && record->verdict != Verdict::kOpen ? 1 : 0;
  }
  const double excess = static_cast<double>(next_number_ - 1) / (kChanges + age / kWindowsPerChange);
  return kCaution * (1 + std::max(0.0, failed - kFailuresFree) / kFailuresFree) * std::max(1.0, excess * excess);
}

void DecisionLog::Load(std::vector<DecisionRecord> records, uint64_t next_number) {
  records_ = std::move(records);
  next_number_ = next_number;
}

}  // namespace attune::tuner
