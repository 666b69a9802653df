#include "operator/controller/objects/tuning_record.h"

#include "absl/strings/numbers.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/names.h"

namespace attune::controller {
namespace {

using kube::Json;

constexpr char kState[] = "state", kGeneration[] = "generation", kWriter[] = "writer";

}  // namespace

TuningRecord ReadTuningRecord(const Json& config_map) {
  const auto text = [&](const char* key) { return std::string(kube::StringAt(config_map, {"data", key})); };
  TuningRecord record{.state = text(kState), .generation = 0, .writer = text(kWriter)};
  if (!absl::SimpleAtoi(text(kGeneration), &record.generation)) record.generation = 0;
  return record;
}

Json TuningRecordData(const TuningRecord& record) {
  return {{kState, record.state}, {kGeneration, std::to_string(record.generation)}, {kWriter, record.writer}};
}

Json BuildTuningRecord(const api::TrainingJob& job, const TuningRecord& record) {
  return {{"apiVersion", kube::kConfigMaps.api_version()},
          {"kind", kube::kConfigMaps.kind},
          {"metadata", OwnedMetadata(job, TuningRecordName(job.name))},
          {"data", TuningRecordData(record)}};
}

}  // namespace attune::controller
