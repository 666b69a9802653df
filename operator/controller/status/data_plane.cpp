#include "operator/controller/status/data_plane.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "operator/controller/observe/names.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/requests/checkpoint_interval.h"
#include "proto/metric_name.h"
#include "proto/row_management.h"
#include "proto/sync_mode.h"

namespace attune::controller {
namespace {

// "server-1 answered 1.8 times the mean's keys: 212 shards moved to server-0, server-2"
std::string Describe(const v1::Relief& relief) {
  const auto name = [](uint32_t index) {
    return std::string(ToString(RoleName::kServer)) + "-" + std::to_string(index);
  };
  std::string takers;
  for (const uint32_t taker : relief.takers()) takers += (takers.empty() ? " to " : ", ") + name(taker);
  const double times = std::clamp(relief.times_mean(), 0.0, 1e6);
  std::array<char, 32> figure{};
  std::snprintf(figure.data(), figure.size(), "%.1f", times);
  return FitText(name(relief.server()) + " answered " + figure.data() + " times the mean's keys: " +
                     Counted(static_cast<int64_t>(relief.shards()), "shard") + " moved" + takers,
                 1024);
}

api::CheckpointStatus& CheckpointOf(api::TrainingJobStatus& status) {
  return status.checkpoint ? *status.checkpoint : status.checkpoint.emplace();
}

// What the coordinator says of losses, relieved servers and its best checkpoint.
void SetReported(const v1::JobWindow& window, api::TrainingJobStatus& status) {
  if (window.has_recovery()) {
    const v1::Recovery& recovery = window.recovery();
    status.recovery = api::RecoveryStatus{.count = recovery.count(),
                                          .restored_rows = recovery.restored_rows(),
                                          .restored_shards = recovery.restored_shards(),
                                          .checkpoint = recovery.checkpoint(),
                                          .step = recovery.step(),
                                          .steps_lost = recovery.steps_lost()};
  }
  if (window.has_relief()) {
    status.relief = api::ReliefStatus{
        .term = window.term(), .number = window.relief().number(), .message = Describe(window.relief())};
  }
  if (window.has_best_checkpoint()) {
    const auto& best = window.best_checkpoint();
    status.best_checkpoint = api::BestCheckpointStatus{.directory = FitText(best.directory(), 1024),
                                                       .number = best.number(),
                                                       .metric = FitText(best.metric(), contract::kMetricNameBytesMax),
                                                       .value = best.value(),
                                                       .step = best.at().step(),
                                                       .epoch = best.at().epoch()};
  }
}

void SetCheckpoint(const v1::JobWindow& window, api::CheckpointStatus& checkpoint) {
  const std::string directory = FitText(window.checkpoint().directory(), 1024);
  const bool is_new = checkpoint.directory != directory || checkpoint.number != window.checkpoint().number();
  if (is_new) checkpoint.regular_message.clear();  // of an attempt before
  checkpoint.directory = directory;
  checkpoint.number = window.checkpoint().number();
  checkpoint.step = window.checkpoint().step();
  checkpoint.time = ToRfc3339(WallTime(std::chrono::duration_cast<WallTime::duration>(
      std::chrono::duration<double>(std::min(window.checkpoint().complete_unix_seconds(), 9e9)))));
  checkpoint.bytes = window.checkpoint().bytes();
  checkpoint.rows = window.checkpoint().rows();
}

}  // namespace

void SetDataPlane(const Observed& observed, const ServersView& servers, const Progression& progression,
                  api::TrainingJobStatus& status) {
  status.coordinator = progression.coordinator.pod;
  status.coordinator_term = progression.coordinator.term;
  status.coordinator_voters = progression.coordinator.voters;
  status.begun = status.begun || servers.begun;
  if (const std::string& problem = progression.requests.regular_checkpoint_problem;
      !problem.empty()) {  // a newer checkpoint ends it
    api::CheckpointStatus& checkpoint = CheckpointOf(status);
    checkpoint.regular_message = FitText(problem, 1024);
  }
  if (const v1::JobWindow* window = CurrentWindow(observed); window != nullptr && window->has_abilities()) {
    const v1::Abilities& can = window->abilities();
    status.abilities = ToStatus(can);
    if (can.synchronization_modes()) status.synchronization = api::ToManifest(ReportedMode(window->synchronization()));
    if (const auto management = FromProto(window->announcements().management());
        can.row_management() && management.ok()) {
      status.row_management = *management;
    }
    SetReported(*window, status);
    if (window->has_checkpoint()) SetCheckpoint(*window, CheckpointOf(status));
  }
  if (const auto& interval = progression.requests.default_interval) {
    api::CheckpointStatus& checkpoint = CheckpointOf(status);
    checkpoint.interval_seconds = std::chrono::duration_cast<std::chrono::seconds>(*interval).count();
  } else if (status.checkpoint && observed.job.spec.checkpoint.interval_seconds) {
    status.checkpoint->interval_seconds.reset();
  }
  if (const auto took = LastCheckpointTook(observed); took && status.checkpoint && !status.checkpoint->time.empty()) {
    status.checkpoint->seconds = Seconds(*took);
  }
  if (const auto& trace = progression.requests.row_trace) status.row_trace = trace;
  if (const auto& answer = progression.requests.checkpoint) {
    api::CheckpointStatus& checkpoint = CheckpointOf(status);
    checkpoint.request = answer->request;
    checkpoint.message = FitText(answer->problem, 1024);
  }
}

}  // namespace attune::controller
