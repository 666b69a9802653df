// A job under the real Executor that is tuned while it trains by a table: two workers make the most steps. Pods start
// when they are made and leave when they are asked to.
#pragma once

#include <functional>
#include <string>

#include "operator/controller/objects/tuning_record.h"
#include "tests/operator/controller/execute/executor_rig.h"

namespace attune::controller {

class TunedRig : public ExecutorRig {
 public:
  // One server and at most six workers, windows of two seconds, and a job of an hour and a half at first.
  TunedRig();

  // The job trains for so long, or until `until` holds; one look each second at least.
  void Train(int seconds, const std::function<bool()>& until = {});
  int Workers();     // that the spec asks for
  uint64_t Begun();  // changes of setting, by the status
  bool IsChanged() { return Workers() != 1; }
  // ConfigMap j-tuning as it is kept; null: there is none.
  kube::Json Record();
  std::string State() { return ReadTuningRecord(Record()).state; }
  std::string Stage();
  void SetSpec(const kube::Json& spec);
  void SetStatus(const kube::Json& status);  // as an operator would: a merge patch of it, by its field manager
  size_t CallsWith(const std::string& text) const;

 private:
  void Second();

  double steps_ = 0;
};

}  // namespace attune::controller
