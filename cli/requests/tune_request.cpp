#include "cli/requests/tune_request.h"

#include <strings.h>

#include <limits>

#include "cli/requests/scale_request.h"
#include "cli/requests/sync_request.h"
#include "operator/tuner/space/knob.h"

namespace attune::cli {
namespace {

using kube::Json;

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    if (comma > begin) parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

Status NoKnob(const std::string& name) {
  return Error(StatusCode::kInvalidArgument,
               "\"" + name + "\" cannot be pinned; servers, workers, threads and slack can");
}

// Of threads and slack; numbers of pods are read as by `attune scale`.
Status PinLive(const api::TrainingJob& job, const std::string& name, const std::string& text, TuneRequest& request) {
  const tuner::KnobRecord& knob = *tuner::FindKnob(name);
  const std::optional<int> value = tuner::ParseValue(knob, text);
  if (!value) {
    return Error(StatusCode::kInvalidArgument, "\"" + text + "\" is no value of " + name + "; write " +
                                                   (name == "slack" ? "bsp, ssp:N, async, or a number" : "a number") +
                                                   " from " + std::to_string(knob.low) + " to " +
                                                   std::to_string(knob.high));
  }
  request.patch["spec"]["tuning"][name]["pinned"] = *value;
  if (name == "threads") {
    request.patch["spec"]["workers"]["threads"] = *value;
    // Only their program knows how many it can use: what it refuses is not left standing.
    const auto or_null = [](const std::optional<int32_t>& number) { return number ? Json(*number) : Json(); };
    request.undo["spec"]["workers"]["threads"] = or_null(job.spec.worker_threads);
    request.undo["spec"]["tuning"]["threads"]["pinned"] = or_null(job.spec.tuning.threads.pinned);
  } else {
    const SyncMode pace = tuner::SyncModeOf(*value);
    RETURN_IF_ERROR(CheckSynchronization(job, pace));
    request.patch["spec"]["synchronization"] = api::SynchronizationFields(pace);
  }
  request.answer += (request.answer.empty() ? "" : " and ") + name + " stays at " + tuner::ValueText(name, *value);
  return OkStatus();
}

StatusOr<TuneRequest> Pin(const api::TrainingJob& job, const std::string& settings) {
  TuneRequest request;
  std::vector<std::string> pods;
  for (const std::string& part : SplitAtCommas(settings)) {
    const size_t equals = std::min(part.find('='), part.size());
    const std::string name = part.substr(0, equals);
    if (tuner::FindKnob(name) == nullptr && name != "server" && name != "worker") return NoKnob(name);
    if (name == "threads" || name == "slack") {
      RETURN_IF_ERROR(PinLive(job, name, part.substr(std::min(equals + 1, part.size())), request));
    } else {
      pods.push_back(part);
    }
  }
  if (pods.empty() && !request.answer.empty()) return request;
  ASSIGN_OR_RETURN(const ScaleRequest scale, ParseScaleChanges(pods));
  RETURN_IF_ERROR(CheckScale(job, scale));
  const auto pin = [&](const char* role, const std::optional<int32_t>& count) {
    if (!count) return;
    request.patch["spec"]["tuning"][role]["pinned"] = *count;
    request.patch["spec"][role]["replicas"] = *count;
    request.answer +=
        (request.answer.empty() ? "" : " and ") + std::string(role) + " stay at " + std::to_string(*count);
  };
  pin("servers", scale.servers);
  pin("workers", scale.workers);
  return request;
}

const api::KnobPolicy* PolicyOf(const api::Tuning& tuning, std::string_view knob) {
  if (knob == "servers") return &tuning.servers;
  if (knob == "workers") return &tuning.workers;
  if (knob == "threads") return &tuning.threads;
  return knob == "slack" ? &tuning.slack : nullptr;
}

// "servers=2, slack=BSP"; "" when nothing is pinned.
std::string PinnedText(const api::Tuning& tuning) {
  std::string text;
  for (const tuner::KnobRecord& knob : tuner::Knobs()) {
    const api::KnobPolicy* policy = PolicyOf(tuning, knob.name);
    if (policy == nullptr || !policy->pinned) continue;
    text += (text.empty() ? "" : ", ") + std::string(knob.name) + "=" + tuner::ValueText(knob.name, *policy->pinned);
  }
  return text;
}

StatusOr<TuneRequest> Unpin(const api::TrainingJob& job, const std::string& names) {
  TuneRequest request;
  std::vector<std::string> wanted = SplitAtCommas(names);
  if (wanted.empty()) {
    for (const tuner::KnobRecord& knob : tuner::Knobs()) {
      if (knob.steered) wanted.emplace_back(knob.name);
    }
  }
  for (const std::string& name : wanted) {
    if (PolicyOf(job.spec.tuning, name) == nullptr) return NoKnob(name);
    request.patch["spec"]["tuning"][name]["pinned"] = nullptr;
  }
  const std::string pinned = PinnedText(job.spec.tuning);
  request.answer = pinned.empty()  ? "nothing was pinned"
                   : names.empty() ? "nothing is pinned any more (it was " + pinned + ")"
                                   : names + " may change again";
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
  if (action == "unpin") return Unpin(job, settings);
  if (!settings.empty()) {
    return Error(StatusCode::kInvalidArgument, "\"" + settings + "\" goes with pin only; " + kTuneUsage);
  }
  TuneRequest request;
  Json& tuning = request.patch["spec"]["tuning"];
  // What is asked for has an effect only with the other half.
  const bool off = job.spec.tuning.mode == api::TuningMode::kOff;
  const std::string also_off = off ? "; but tuning is off: `attune tune auto " + job.name + "` turns it on" : "";
  if (action == "pause") {
    tuning["paused"] = true;
    request.answer = "the tuner leaves the setting as it is until `attune tune resume " + job.name + "`" + also_off;
  } else if (action == "resume") {
    tuning["paused"] = false;
    const std::string pinned = PinnedText(job.spec.tuning);
    request.answer =
        "the tuner continues" +
        (pinned.empty() ? "" : "; " + pinned + " stays pinned until `attune tune unpin " + job.name + "`") + also_off;
  } else if (const auto mode = ParseTuningMode(action)) {
    tuning["mode"] = ToString(*mode);
    request.answer = std::string("tuning ") + ToString(*mode);
    if (job.spec.tuning.paused && *mode != api::TuningMode::kOff)
      request.answer += "; but it is paused: `attune tune resume " + job.name + "` continues it";
  } else {
    return Error(StatusCode::kInvalidArgument, "\"" + action + "\" is nothing that the tuner does; " + kTuneUsage);
  }
  return request;
}

Status CheckTuneWords(const std::string& action, const std::string& settings) {
  api::TrainingJob any;
  for (api::Role* role : {&any.spec.servers, &any.spec.workers}) {
    role->min = 0;
    role->max = std::numeric_limits<int32_t>::max();
  }
  any.status.abilities = api::Abilities{.elastic_servers = true, .synchronization_modes = true};
  const Status status = MakeTuneRequest(any, action, settings).status();
  return status.code() == StatusCode::kInvalidArgument ? status : OkStatus();
}

}  // namespace attune::cli
