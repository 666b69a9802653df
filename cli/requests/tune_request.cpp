#include "cli/requests/tune_request.h"

#include <strings.h>

#include <algorithm>
#include <limits>

#include "cli/requests/bad_request.h"
#include "cli/requests/scale_request.h"
#include "cli/requests/workers/sync_request.h"
#include "operator/kube/quantity.h"
#include "operator/tuner/space/knob.h"

namespace attune::cli {
namespace {

using kube::Json;

constexpr char kWorkerCpu[] = "worker-cpu", kServerCpu[] = "server-cpu";

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
               "\"" + name + "\" cannot be pinned; servers, workers, threads, slack, worker-cpu and server-cpu can");
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
    const bool is_cpu = name == kWorkerCpu || name == kServerCpu;
    if (tuner::FindKnob(name) == nullptr && name != "server" && name != "worker" && !is_cpu) return NoKnob(name);
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
  const auto pin_cpu = [&](const char* word, const char* field, const char* role, const std::optional<int64_t>& cpu) {
    if (!cpu) return;
    const std::string amount = kube::FormatMillicores(*cpu);
    request.patch["spec"]["tuning"][field]["pinned"] = amount;
    request.patch["spec"][role]["resources"]["cpu"]["target"] = amount;
    request.answer += (request.answer.empty() ? "" : " and ") + std::string(word) + " stays at " + amount;
  };
  pin_cpu(kServerCpu, "serverCpu", "servers", scale.server.cpu);
  pin_cpu(kWorkerCpu, "workerCpu", "workers", scale.worker.cpu);
  return request;
}

// A knob that can be pinned, by its name on the command line.
struct PinnableKnob {
  std::string word, field;  // "worker-cpu", "workerCpu" of spec.tuning
  std::string pinned;       // the value that it is pinned to; "": it is free
};

std::vector<PinnableKnob> KnobsOf(const api::Tuning& tuning) {
  const auto count = [](const char* name, const api::KnobPolicy& policy) -> PinnableKnob {
    return {name, name, policy.pinned ? tuner::ValueText(name, *policy.pinned) : ""};
  };
  const auto cpu = [](const char* word, const char* field, const api::AmountPolicy& policy) -> PinnableKnob {
    return {word, field, policy.pinned ? kube::FormatMillicores(*policy.pinned) : ""};
  };
  return {count("servers", tuning.servers),
          count("workers", tuning.workers),
          count("threads", tuning.threads),
          count("slack", tuning.slack),
          cpu(kServerCpu, "serverCpu", tuning.server_cpu),
          cpu(kWorkerCpu, "workerCpu", tuning.worker_cpu)};
}

// "servers=2, slack=BSP"; "" when nothing is pinned.
std::string PinnedText(const api::Tuning& tuning) {
  std::string text;
  for (const PinnableKnob& knob : KnobsOf(tuning)) {
    if (!knob.pinned.empty()) text += (text.empty() ? "" : ", ") + knob.word + "=" + knob.pinned;
  }
  return text;
}

StatusOr<TuneRequest> Unpin(const api::TrainingJob& job, const std::string& names) {
  TuneRequest request;
  const std::vector<PinnableKnob> knobs = KnobsOf(job.spec.tuning);
  const auto free = [&](const PinnableKnob& knob) { request.patch["spec"]["tuning"][knob.field]["pinned"] = nullptr; };
  const std::vector<std::string> wanted = SplitAtCommas(names);
  if (wanted.empty()) std::ranges::for_each(knobs, free);
  for (const std::string& name : wanted) {
    const auto knob = std::ranges::find(knobs, name, &PinnableKnob::word);
    if (knob == knobs.end()) return NoKnob(name);
    free(*knob);
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
  RETURN_IF_ERROR(CheckNotEnded(job, "tune"));
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
