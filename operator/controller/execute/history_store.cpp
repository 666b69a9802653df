#include "operator/controller/execute/history_store.h"

#include <utility>

#include "base/log.h"
#include "operator/controller/observe/act_failures.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

using kube::Json;

constexpr char kHistory[] = "history";
constexpr char kManagedBy[] = "app.kubernetes.io/managed-by";

tuner::JobHistory HistoryIn(const Json& present, const kube::ObjectKey& key) {
  const std::string text(kube::StringAt(present, {"data", kHistory}));
  if (text.empty()) return {};
  StatusOr<tuner::JobHistory> history = tuner::JobHistory::Load(text);
  if (history.ok()) return *std::move(history);
  log::Warn("the history of finished jobs begins with nothing",
            {{"object", key.ToString()}, {"reason", history.status()}});
  return {};
}

}  // namespace

StatusOr<tuner::JobHistory> HistoryStore::Read() const {
  const StatusOr<Json> present = api_.Get(kube::kConfigMaps, key_, call_);
  if (present.status().code() == StatusCode::kNotFound) return tuner::JobHistory();
  if (!present.ok()) return Annotate(present.status(), "reading ConfigMap " + key_.ToString());
  RETURN_IF_ERROR(CheckIsOurs(*present));
  return HistoryIn(*present, key_);
}

Status HistoryStore::Add(const tuner::HistoryEntry& entry) {
  const std::string what = "writing ConfigMap " + key_.ToString();
  const StatusOr<Json> present = api_.Get(kube::kConfigMaps, key_, call_);
  const bool is_first = present.status().code() == StatusCode::kNotFound;
  if (!present.ok() && !is_first) return Annotate(present.status(), what);
  if (!is_first) RETURN_IF_ERROR(CheckIsOurs(*present));
  tuner::JobHistory history = is_first ? tuner::JobHistory() : HistoryIn(*present, key_);
  history.Add(entry);
  const Json data = {{kHistory, history.Save()}};
  if (is_first) {
    const Json object = {
        {"apiVersion", kube::kConfigMaps.api_version()},
        {"kind", kube::kConfigMaps.kind},
        {"metadata",
         {{"name", key_.name}, {"namespace", key_.name_space}, {"labels", {{kManagedBy, contract::kFieldManager}}}}},
        {"data", data}};
    const Status created = api_.Create(kube::kConfigMaps, object, call_).status();
    if (created.code() != StatusCode::kAlreadyExists) return created.ok() ? created : Annotate(created, what);
    return Error(StatusCode::kAborted, what + ": it has appeared meanwhile");
  }
  // Names the version that was read: what another job adds in the same moment is not lost.
  const Json metadata = {{"uid", kube::Uid(*present)}, {"resourceVersion", kube::ResourceVersion(*present)}};
  const Status written =
      api_.Patch(kube::kConfigMaps, key_, kube::PatchType::kMerge, {{"metadata", metadata}, {"data", data}}, "", call_)
          .status();
  return written.ok() ? written : Annotate(written, what);
}

Status HistoryStore::CheckIsOurs(const Json& present) const {
  if (kube::Label(present, kManagedBy) == contract::kFieldManager) return OkStatus();
  return NameTaken("ConfigMap " + key_.ToString() + " exists and is not the operator's");
}

}  // namespace attune::controller
