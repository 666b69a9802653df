// Carries one action out: a call to the API server, a word to a sidecar, an Event. Success means that what was wanted
// holds, also when it did before; what the caches must show before the next plan is noted on the way.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/controller/actions/action.h"
#include "operator/controller/execute/expectations.h"
#include "operator/controller/execute/tuning_store.h"
#include "operator/kube/api.h"
#include "operator/kube/events.h"
#include "operator/telemetry/service.h"
#include "operator/tuner/records/history.h"

namespace attune::controller {

// What the API server answered of the object that a call was about.
inline bool IsGone(const Status& status) { return status.code() == StatusCode::kNotFound; }
// Another object of that name and another uid: what was meant is gone.
inline bool IsReplaced(const Status& status) { return status.code() == StatusCode::kAborted; }

// What was done for one job in this process' life.
struct Done {
  std::optional<MonotonicTime> status_written_at;
  std::set<std::string> drain_sent;             // by pod uid
  std::map<std::string, MonotonicTime> sent;    // directives by key
  bool secret_exists = false;                   // of the job's token
  std::optional<MonotonicTime> policy_seen_at;  // when the job's NetworkPolicy was there for certain
  std::optional<KeptTuning> tuning;             // unset: it has to be read first
  tuner::JobHistory history;                    // of the namespace, when the record was read
  std::optional<std::string> finished_tuning;   // that is to be added to it (actions/action.h)
  Expectations expectations;
};

// For one round of one job, by one thread. All arguments must outlive it.
class Carrier {
 public:
  // No call to the API server takes longer.
  static constexpr Duration kCallTimeout = std::chrono::seconds(5);

  // `process`: names this one.
  Carrier(kube::Api& api, const TimeSource& time, telemetry::Service& service, kube::EventRecorder& events,
          const api::TrainingJob& job, const kube::Json& job_object, const std::string& process, Done& done)
      : api_(api),
        time_(time),
        service_(service),
        events_(events),
        job_(job),
        job_object_(job_object),
        key_(kube::KeyOf(job_object)),
        process_(process),
        done_(done),
        job_version_(job.resource_version) {}

  Status Carry(const Action& action) {
    return std::visit([this](const auto& typed) { return CarryOut(typed); }, action);
  }

 private:
  Status Create(const kube::ResourceType& type, const kube::Json& object);
  Status CheckJobIsAsPlanned();
  Status ApplyStatus(kube::Json status, const char* manager, const std::string& version);
  void TakeJob(kube::Json written);
  Status OnNameInUse(const kube::ResourceType& type, const kube::ObjectKey& key);

  Status CarryOut(const CreatePod& action);
  Status CarryOut(const CreateService& action);
  Status CarryOut(const CreatePodDisruptionBudget& action);
  Status CarryOut(const CreateSecret& action);
  Status CarryOut(const CreateNetworkPolicy& action);
  Status CarryOut(const CreateWorkload& action);
  Status CarryOut(const PatchWorkload& action);
  Status CarryOut(const DeleteWorkload& action);
  Status CarryOut(const PatchPod& action);
  Status CarryOut(const PatchJob& action);
  Status CarryOut(const ChooseSettings& action);
  Status CarryOut(const OpenTuningRecord& action);
  Status CarryOut(const WriteTuningRecord& action);
  Status CarryOut(const KeepTuningHistory& action);
  Status CarryOut(const ResizePod& action);
  Status CarryOut(const DeletePod& action);
  Status CarryOut(const SendDrain& action);
  Status CarryOut(const SendDirective& action);
  Status CarryOut(const PatchPodDisruptionBudget& action);
  Status CarryOut(const WriteStatus& action);
  Status CarryOut(const EmitEvent& action);
  Status CarryOut(const DeleteJob& action);
  Status CarryOut(const RequeueAfter&) { return OkStatus(); }  // the executor's

  kube::Api& api_;
  const TimeSource& time_;
  telemetry::Service& service_;
  kube::EventRecorder& events_;
  const api::TrainingJob& job_;
  const kube::Json& job_object_;
  const kube::ObjectKey key_;
  const std::string& process_;
  Done& done_;
  // What this round's own writes have made of what the plan was made from.
  std::string job_version_;
  std::optional<kube::Json> written_job_;
  std::map<std::string, std::string> pod_versions_;  // by uid
};

}  // namespace attune::controller
