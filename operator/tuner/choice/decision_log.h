// The changes that were decided, newest last, and what came of each: a change is judged when its setting is left or has
// been stayed with. Of what the log shows follows how cautious the next trial has to be. Bounded.
#pragma once

#include <cstdint>
#include <vector>

#include "operator/tuner/belief/view.h"
#include "operator/tuner/choice/proposal.h"
#include "operator/tuner/records/decision_record.h"

namespace attune::tuner {

class DecisionLog {
 public:
  // The last change, where it is still open, is judged by a decision to be at `next` now.
  void Judge(const Evidence& evidence, const View& view, int next, DecisionKind kind);
  // A change to proposal.setting, against what was kept last or the incumbent. Returns its number: 1, 2, ...
  uint64_t Add(const Evidence& evidence, const View& view, DecisionKind kind, const Proposal& proposal, int kept,
               const std::string& why);

  // How much more a trial must promise than it costs, `age` windows after the job began.
  double Caution(double age) const;

  const std::vector<DecisionRecord>& records() const { return records_; }  // the last kRecordsMax
  uint64_t next_number() const { return next_number_; }
  void Load(std::vector<DecisionRecord> records, uint64_t next_number);

  static constexpr size_t kRecordsMax = 40;

 private:
  std::vector<DecisionRecord> records_;
  uint64_t next_number_ = 1;
};

}  // namespace attune::tuner
