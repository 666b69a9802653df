#include "cli/pull/pod_reader.h"

#include <algorithm>

#include "cli/pull/reader_manifest.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

using kube::Json;

constexpr Duration kLook = std::chrono::milliseconds(500);
constexpr Duration kPageTimeout = std::chrono::seconds(60);  // a checksum of a block on a slow volume takes seconds
constexpr Duration kReadyTimeout = std::chrono::seconds(10);
constexpr Duration kAnswerMax = std::chrono::seconds(30);  // from a container that runs to its first answer
constexpr int kAttempts = 5;

constexpr char kRights[] = "; pull-model needs the rights to create, get and delete pods, and to get pods/proxy";

bool PassesBy(const Status& status) {
  return status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kDeadlineExceeded;
}

Status WithRights(const Status& status) {
  return status.code() == StatusCode::kPermissionDenied || status.code() == StatusCode::kUnauthenticated
             ? Error(status.code(), std::string(Message(status)) + kRights)
             : status;
}

// Nothing where they may not be read: then less is said.
std::vector<Json> EventsOf(kube::Api& api, const kube::ObjectKey& pod, const std::string& uid) {
  constexpr size_t kEventsMax = 100;
  const auto list = api.List(kube::kEvents, {.name_space = pod.name_space,
                                             .label_selector = "",
                                             .field_selector = "regarding.name=" + pod.name,
                                             .items_max = kEventsMax});
  std::vector<Json> events;
  for (const Json& event : list.ok() ? list->items : std::vector<Json>()) {
    if (kube::StringAt(event, {"regarding", "uid"}) == uid) events.push_back(event);
  }
  return events;
}

}  // namespace

StatusOr<std::unique_ptr<PodReader>> PodReader::Start(kube::Api& api, const Json& pod, const std::string& token,
                                                      Duration most, const ReaderSurroundings& surroundings) {
  std::unique_ptr<PodReader> reader(new PodReader(api, kube::KeyOf(pod), token, surroundings));
  const MonotonicTime deadline = surroundings.time.Now() + most;
  RETURN_IF_ERROR(reader->Create(pod, deadline));
  RETURN_IF_ERROR(reader->AwaitRunning(deadline));
  RETURN_IF_ERROR(reader->AwaitAnswer(std::min(deadline, surroundings.time.Now() + kAnswerMax)));
  return reader;
}

PodReader::~PodReader() {
  if (uid_.empty()) return;
  const Status status = api_.Delete(kube::kPods, key_, {.uid = uid_});
  if (status.ok() || status.code() == StatusCode::kNotFound || status.code() == StatusCode::kAborted) return;
  with_.say("pod " + key_.ToString() + " could not be deleted (" + std::string(Message(status)) +
            "); it ends by itself " + "after " + api::FormatSeconds(Seconds(kReaderIdle)));
}

Status PodReader::Create(const Json& pod, MonotonicTime deadline) {
  auto created = api_.Create(kube::kPods, pod);
  if (created.status().code() == StatusCode::kAlreadyExists) {
    RETURN_IF_ERROR(RemoveEarlier(deadline));
    created = api_.Create(kube::kPods, pod);
  }
  if (!created.ok()) return WithRights(created.status());
  uid_ = kube::Uid(*created);
  return OkStatus();
}

Status PodReader::RemoveEarlier(MonotonicTime deadline) {
  const std::string name = "pod " + key_.ToString();
  for (bool said = false;; said = true) {
    const auto present = api_.Get(kube::kPods, key_);
    if (present.status().code() == StatusCode::kNotFound) return OkStatus();
    RETURN_IF_ERROR(WithRights(present.status()));
    if (kube::Label(*present, kReaderLabel) != kReaderLabelValue) {
      return Error(StatusCode::kAlreadyExists, name + " is there and is no reader of a model; rename or delete it");
    }
    if (!said) {
      const bool runs = kube::StringAt(*present, {"status", "phase"}) == "Running";
      with_.say("replacing " + name + ", which an earlier call left" + (runs ? ", or another one uses" : ""));
    }
    if (!kube::IsBeingDeleted(*present)) {
      const Status status = api_.Delete(kube::kPods, key_, {.uid = std::string(kube::Uid(*present))});
      if (!status.ok() && status.code() != StatusCode::kNotFound && status.code() != StatusCode::kAborted)
        return WithRights(status);
    }
    if (with_.time.Now() >= deadline) {
      return Error(StatusCode::kDeadlineExceeded,
                   name + " of an earlier call does not go; its machine may be away: delete it by force");
    }
    RETURN_IF_ERROR(Pause(kLook));
  }
}

Status PodReader::AwaitRunning(MonotonicTime deadline) {
  const std::string name = "pod " + key_.ToString();
  std::string said;
  while (true) {
    const auto pod = api_.Get(kube::kPods, key_);
    if (!pod.ok() && !PassesBy(pod.status())) return WithRights(pod.status());
    // An API server that is away is waited for as well.
    ReaderState state{ReaderState::Kind::kWaiting, std::string(Message(pod.status()))};
    if (pod.ok() && kube::Uid(*pod) != uid_) {
      return Error(StatusCode::kAborted, name + " was replaced by another call of pull-model; run one at a time");
    }
    if (pod.ok()) state = StateOfReader(*pod, EventsOf(api_, key_, uid_));
    if (state.kind == ReaderState::Kind::kRunning) return OkStatus();
    if (state.kind == ReaderState::Kind::kFailed)
      return Error(StatusCode::kFailedPrecondition, name + " shows no files: " + state.text);
    if (state.text != said) {
      said = state.text;
      with_.say("waiting for " + name + ": " + said);
    }
    if (with_.time.Now() >= deadline) {
      return Error(StatusCode::kDeadlineExceeded, name + " did not start in time; it waited for: " + said +
                                                      ". Mend that, or wait longer with --timeout");
    }
    RETURN_IF_ERROR(Pause(kLook));
  }
}

Status PodReader::AwaitAnswer(MonotonicTime deadline) {
  while (true) {
    const auto answer = api_.GetPodPage(key_, kReaderPort, token_ + "/ready", {kReadyTimeout});
    if (answer.ok()) return OkStatus();
    if (!PassesBy(answer.status())) return WithRights(answer.status());
    if (with_.time.Now() >= deadline) {
      return Error(StatusCode::kUnavailable,
                   "pod " + key_.ToString() + " runs, and the API server does not reach its port " +
                       std::to_string(kReaderPort) + " (" + std::string(Message(answer.status())) +
                       "); where a NetworkPolicy of the namespace keeps it out, allow it for pods with the label " +
                       kReaderLabel + "=" + kReaderLabelValue);
    }
    RETURN_IF_ERROR(Pause(kLook));
  }
}

StatusOr<std::string> PodReader::Ask(const std::string& request) {
  Duration pause = std::chrono::seconds(1);
  for (int attempt = 1;; ++attempt, pause *= 2) {
    auto answer = AskOnce(request);
    if (answer.ok() || !PassesBy(answer.status()) || attempt == kAttempts) return answer;
    with_.say("asking again: " + std::string(Message(answer.status())));
    RETURN_IF_ERROR(Pause(pause));
  }
}

StatusOr<std::string> PodReader::AskOnce(const std::string& request) {
  auto answer = api_.GetPodPage(key_, kReaderPort, token_ + "/" + request, {kPageTimeout});
  if (answer.status().code() == StatusCode::kNotFound) {
    return Error(StatusCode::kNotFound,
                 "pod " + key_.ToString() + " does not answer any more (" + std::string(Message(answer.status())) +
                     "): it was deleted, or another call of pull-model replaced it. Run the command again, it "
                     "continues");
  }
  return answer;
}

Status PodReader::Pause(Duration time) const {
  return with_.wait(time) ? Error(StatusCode::kCancelled, "interrupted") : OkStatus();
}

}  // namespace attune::cli
