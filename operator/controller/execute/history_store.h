// The history of a namespace's finished jobs, from which the tuners of similar jobs start: ConfigMap
// attune-tuner-history. Bounded by JobHistory's own bounds, and nothing that a job could not do without.
#pragma once

#include <string>

#include "base/status.h"
#include "operator/kube/api.h"
#include "operator/tuner/records/history.h"

namespace attune::controller {

class HistoryStore {
 public:
  // `api` must outlive it.
  HistoryStore(kube::Api& api, const kube::CallOptions& call, const std::string& name_space)
      : api_(api), call_(call), key_{name_space, kName} {}

  // A missing one is empty, and so is one that cannot be understood.
  StatusOr<tuner::JobHistory> Read() const;
  // Aborted where another one was added meanwhile; an entry that is added twice counts once.
  Status Add(const tuner::HistoryEntry& entry);

  static constexpr char kName[] = "attune-tuner-history";

 private:
  Status CheckIsOurs(const kube::Json& present) const;

  kube::Api& api_;
  const kube::CallOptions call_;
  const kube::ObjectKey key_;
};

}  // namespace attune::controller
