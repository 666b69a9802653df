#include "operator/controller/execute/tuning_store.h"

#include "base/log.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/act_failures.h"
#include "operator/controller/tuning/tuning_loop.h"
#include "proto/contract.h"

namespace attune::controller {

using kube::Json;

Status TuningStore::Open(const std::string& moved) {
  kept_.reset();
  const StatusOr<Json> present = api_.Get(kube::kConfigMaps, key_, call_);
  if (present.status().code() == StatusCode::kNotFound) return Begin(moved);
  if (!present.ok()) return Annotate(present.status(), "reading ConfigMap " + key_.ToString());
  RETURN_IF_ERROR(CheckIsOurs(*present));
  Keep(*present);
  if (TuningLoop::TimeOf(moved) <= TuningLoop::TimeOf(kept_->record.state)) return OkStatus();
  Status written = Write(moved);
  if (!written.ok()) kept_.reset();
  return written;
}

Status TuningStore::Begin(const std::string& state) {
  const StatusOr<Json> created = api_.Create(kube::kConfigMaps, BuildTuningRecord(job_, RecordOf(state)), call_);
  if (created.ok()) {
    Keep(*created);
    return OkStatus();
  }
  const std::string what = "creating ConfigMap " + key_.ToString();
  // Made a moment ago, by an earlier call of ours or by another: the next look reads it.
  if (created.status().code() == StatusCode::kAlreadyExists)
    return Error(StatusCode::kAborted, what + ": it has appeared meanwhile");
  return Annotate(created.status(), what);
}

Status TuningStore::Write(const std::string& state) {
  if (!kept_) return Error(StatusCode::kAborted, "ConfigMap " + key_.ToString() + " has to be read again first");
  const Json patch = {{"metadata", {{"uid", kept_->uid}, {"resourceVersion", kept_->resource_version}}},
                      {"data", TuningRecordData(RecordOf(state))}};
  const StatusOr<Json> written = api_.Patch(kube::kConfigMaps, key_, kube::PatchType::kMerge, patch, "", call_);
  if (written.ok()) {
    Keep(*written);
    return OkStatus();
  }
  if (written.status().code() == StatusCode::kNotFound) return Begin(state);  // it was deleted
  if (written.status().code() == StatusCode::kAborted) return Overtaken();
  return Annotate(written.status(), "writing ConfigMap " + key_.ToString());
}

// By a call of this process that was thought to have failed: it is written over. Or by another process, which may have
// changed the job since: what it wrote counts.
Status TuningStore::Overtaken() {
  const std::string what = "writing ConfigMap " + key_.ToString();
  const StatusOr<Json> present = api_.Get(kube::kConfigMaps, key_, call_);
  if (present.status().code() == StatusCode::kNotFound)
    return Error(StatusCode::kAborted, what + ": it has been deleted meanwhile");
  if (!present.ok()) return Annotate(present.status(), what);
  const bool is_own = IsOwnedBy(*present, job_) && ReadTuningRecord(*present).writer == writer_;
  if (is_own) {
    Keep(*present);
    return Error(StatusCode::kAborted, what + ": an earlier write has been carried out after all");
  }
  kept_.reset();
  log::Info("another operator has tuned the job", {{"job", job_.name_space + "/" + job_.name}});
  return Error(StatusCode::kAborted, what + ": another operator has written it");
}

Status TuningStore::CheckIsOurs(const Json& present) const {
  const std::string name = "ConfigMap " + key_.ToString();
  if (kube::IsBeingDeleted(present))
    return Error(StatusCode::kAborted, "reading " + name + ": it is still being deleted");
  if (IsOwnedBy(present, job_)) return OkStatus();
  const std::string text = name + " exists and does not belong to this job";
  if (kube::Label(present, contract::kLabelJob).empty()) return NameTaken(text);
  return Error(StatusCode::kAborted, text + " but to an earlier one, whose objects are going");
}

void TuningStore::Keep(const Json& object) {
  kept_ = KeptTuning{.uid = std::string(kube::Uid(object)),
                     .resource_version = std::string(kube::ResourceVersion(object)),
                     .record = ReadTuningRecord(object)};
}

}  // namespace attune::controller
