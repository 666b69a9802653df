// The calls to the API server that keep what the tuner of one job must not forget (objects/tuning_record.h).
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "operator/controller/objects/tuning_record.h"
#include "operator/controller/observe/names.h"
#include "operator/kube/api.h"

namespace attune::controller {

// What this process knows to be kept: read from the API server or written there, and not by another process since.
struct KeptTuning {
  std::string uid, resource_version;  // of the object
  TuningRecord record;
};

class TuningStore {
 public:
  // `kept`: of the job, in the memory of this process; set and reset here. `writer`: names this process. All arguments
  // must outlive it.
  TuningStore(kube::Api& api, const kube::CallOptions& call, const api::TrainingJob& job, const std::string& writer,
              std::optional<KeptTuning>& kept)
      : api_(api),
        call_(call),
        job_(job),
        writer_(writer),
        kept_(kept),
        key_{job.name_space, TuningRecordName(job.name)} {}

  // Read; begun with `moved` where nothing is kept, and replaced by it where it is of a later time: an operator of an
  // earlier version has tuned the job meanwhile.
  Status Open(const std::string& moved);
  // Over what is kept. When another process has written there since, `kept` is reset: what it wrote has to be read
  // first.
  Status Write(const std::string& state);

 private:
  Status Begin(const std::string& state);
  Status Overtaken();
  Status CheckIsOurs(const kube::Json& present) const;
  TuningRecord RecordOf(const std::string& state) const { return {state, job_.generation, writer_}; }
  void Keep(const kube::Json& object);

  kube::Api& api_;
  const kube::CallOptions call_;
  const api::TrainingJob& job_;
  const std::string& writer_;
  std::optional<KeptTuning>& kept_;
  const kube::ObjectKey key_;
};

}  // namespace attune::controller
