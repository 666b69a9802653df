#include "operator/controller/observe/tuning_values.h"

#include "operator/controller/observe/text.h"
#include "operator/kube/quantity.h"
#include "operator/tuner/space/knob.h"

namespace attune::controller {

std::string ToString(const JobSetting& setting) {
  std::string text = Counted(setting.servers, "server") + ", " + Counted(setting.workers, "worker");
  if (setting.threads) text += ", " + Counted(*setting.threads, "thread") + " each";
  if (setting.slack) text += ", " + Describe(tuner::SyncModeOf(*setting.slack));
  if (setting.worker_millicores) text += ", " + kube::FormatMillicores(*setting.worker_millicores) + " cpu per worker";
  if (setting.server_millicores) text += ", " + kube::FormatMillicores(*setting.server_millicores) + " cpu per server";
  return text;
}

kube::Json SpecPatch(const JobSetting& setting) {
  kube::Json spec;
  spec["servers"]["replicas"] = setting.servers;
  spec["workers"]["replicas"] = setting.workers;
  if (setting.threads) spec["workers"]["threads"] = *setting.threads;
  if (setting.slack) spec["synchronization"] = api::SynchronizationFields(tuner::SyncModeOf(*setting.slack));
  const auto cpu = [&](const char* role, const std::optional<int32_t>& millicores) {
    if (millicores) spec[role]["resources"]["cpu"]["target"] = kube::FormatMillicores(*millicores);
  };
  cpu("workers", setting.worker_millicores);
  cpu("servers", setting.server_millicores);
  return spec;
}

}  // namespace attune::controller
