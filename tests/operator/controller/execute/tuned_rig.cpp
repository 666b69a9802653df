#include "tests/operator/controller/execute/tuned_rig.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "proto/contract.h"

namespace attune::controller {
namespace {

using kube::Json;

const kube::ObjectKey kJob{"default", "j"}, kRecord{"default", "j-tuning"};

// Steps per second by the number of workers.
constexpr int kWorkersMax = 6;
constexpr double kRates[kWorkersMax + 1] = {0, 100, 170, 150, 120, 100, 90};

}  // namespace

TunedRig::TunedRig() : ExecutorRig(1, 1) {
  SetSpec({{"goal", {{"epochs", nullptr}, {"steps", 500'000}}},
           {"servers", {{"max", 1}}},
           {"workers", {{"max", kWorkersMax}}},
           {"tuning", {{"mode", "Auto"}, {"windowSeconds", 2}}}});
}

void TunedRig::SetSpec(const Json& spec) {
  ASSERT_TRUE(real.Patch(kube::kTrainingJobs, kJob, kube::PatchType::kMerge, {{"spec", spec}}).ok());
}

void TunedRig::SetStatus(const Json& status) {
  Json object = Job();
  object["metadata"] = {{"name", "j"}, {"namespace", "default"}};
  object.erase("spec");
  object["status"].merge_patch(status);
  kube::ApplyOptions options;
  options.field_manager = contract::kFieldManager;
  options.subresource = "status";
  ASSERT_TRUE(real.Apply(kube::kTrainingJobs, object, options).ok());
}

void TunedRig::Second() {
  StartAll();
  int at_work = 0;
  for (const std::string& name : PodNames()) {
    const auto pod = Pod(name);
    if (!pod || kube::StringAt(*pod, {"status", "phase"}) != "Running" || kube::IsBeingDeleted(*pod)) continue;
    const bool is_worker = kube::Label(*pod, contract::kLabelRole) == contract::kRoleWorker;
    if (is_worker && !kube::Annotation(*pod, contract::kAnnotationDrainDeadline).empty()) {
      Exit(name, 0);
      continue;
    }
    const bool is_known = std::ranges::any_of(
        store.sample.pods, [&](const telemetry::PodSample& sample) { return sample.pod == name && sample.connected; });
    if (!is_known) Connect(name, true);
    at_work += is_worker ? 1 : 0;
  }
  const double rate = kRates[static_cast<size_t>(std::clamp(at_work, 0, kWorkersMax))];
  steps_ += rate;
  store.sample.steps += static_cast<uint64_t>(rate);
  store.sample.progressed_at = clock.Now();
  for (telemetry::PodSample& sample : store.sample.pods) {
    if (sample.role == contract::kRoleWorker) sample.window.mutable_worker()->set_steps(static_cast<uint64_t>(rate));
  }
  Say(1, static_cast<uint64_t>(Status().coordinator_term));
  store.sample.job->set_workers(static_cast<uint32_t>(at_work));
  store.sample.job->set_steps(static_cast<uint64_t>(steps_));
  AnswerAll(telemetry::DirectiveAnswer::Outcome::kDone);
  Run(std::chrono::seconds(1));
}

void TunedRig::Train(int seconds, const std::function<bool()>& until) {
  for (int second = 0; second < seconds && !(until && until()); ++second) Second();
}

int TunedRig::Workers() { return static_cast<int>(kube::IntegerAt(Job(), {"spec", "workers", "replicas"})); }

uint64_t TunedRig::Begun() {
  const api::TrainingJobStatus status = Status();
  return status.tuning ? status.tuning->changes : 0;
}

Json TunedRig::Record() {
  auto record = real.Get(kube::kConfigMaps, kRecord);
  return record.ok() ? *std::move(record) : Json();
}

std::string TunedRig::Stage() {
  const api::TrainingJobStatus status = Status();
  return status.tuning ? status.tuning->stage : "";
}

size_t TunedRig::CallsWith(const std::string& text) const {
  return static_cast<size_t>(std::ranges::count_if(
      api.calls(), [&](const std::string& call) { return call.find(text) != std::string::npos; }));
}

}  // namespace attune::controller
