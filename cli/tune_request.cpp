#include "cli/tune_request.h"

#include <strings.h>

#include "cli/scale_request.h"

namespace attune::cli {
namespace {

using kube::Json;

constexpr char kUsage[] =
    "write pause, resume, pin servers=N,workers=N, or a mode: off, recommend, initial, inplaceonly, auto";

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    if (comma > begin) parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

StatusOr<TuneRequest> Pin(const api::TrainingJob& job, const std::string& settings) {
  ASSIGN_OR_RETURN(const ScaleRequest scale, ParseScaleChanges(SplitAtCommas(settings)));
  RETURN_IF_ERROR(CheckScale(job, scale));
  TuneRequest request;
  const auto pin = [&](const char* role, const std::optional<int32_t>& count) {
    if (!count) return;
    request.patch["spec"]["tuning"][role]["pinned"] = *count;
    request.patch["spec"][role]["replicas"] = *count;
    request.told += (request.told.empty() ? "" : " and ") + std::string(role) + " stay at " + std::to_string(*count);
  };
  pin("servers", scale.servers);
  pin("workers", scale.workers);
  return request;
}

}  // namespace

std::optional<api::TuningMode> ParseTuningMode(const std::string& name) {
  for (const api::TuningMode mode : {api::TuningMode::kOff, api::TuningMode::kRecommend, api::TuningMode::kInitial,
                                     api::TuningMode::kInPlaceOnly, api::TuningMode::kAuto}) {
    if (strcasecmp(name.c_str(), ToString(mode)) == 0) return mode;
  }
  return std::nullopt;
}

StatusOr<TuneRequest> MakeTuneRequest(const api::TrainingJob& job, const std::string& action,
                                      const std::string& settings) {
  if (api::IsTrue(job.status, api::kSucceeded) || api::IsTrue(job.status, api::kFailed)) {
    return Error(StatusCode::kFailedPrecondition,
                 "job " + job.name + " has ended (" + job.status.phase + "); there is nothing to tune");
  }
  if (action == "pin") return Pin(job, settings);
  if (!settings.empty()) {
    return Error(StatusCode::kInvalidArgument, "\"" + settings + "\" goes with pin only; " + kUsage);
  }
  TuneRequest request;
  Json& tuning = request.patch["spec"]["tuning"];
  if (action == "pause") {
    tuning["paused"] = true;
    request.told = "the tuner leaves the setting as it is until `attune tune resume " + job.name + "`";
  } else if (action == "resume") {
    tuning = {{"paused", false}, {"servers", {{"pinned", nullptr}}}, {"workers", {{"pinned", nullptr}}}};
    request.told = "the tuner goes on, and nothing is pinned";
  } else if (const auto mode = ParseTuningMode(action)) {
    tuning["mode"] = ToString(*mode);
    request.told = std::string("tuning ") + ToString(*mode);
  } else {
    return Error(StatusCode::kInvalidArgument, "\"" + action + "\" is nothing the tuner can be told; " + kUsage);
  }
  return request;
}

}  // namespace attune::cli
