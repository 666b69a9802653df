#include "operator/controller/observe/tuning_values.h"

#include "operator/controller/observe/text.h"
#include "operator/tuner/space/knob.h"

namespace attune::controller {

std::string ToString(const JobSetting& setting) {
  std::string text = Counted(setting.servers, "server") + ", " + Counted(setting.workers, "worker");
  if (setting.threads) text += ", " + Counted(*setting.threads, "thread") + " each";
  if (setting.slack) text += ", " + Describe(tuner::SyncModeOf(*setting.slack));
  return text;
}

kube::Json SpecPatch(const JobSetting& setting) {
  kube::Json spec;
  spec["servers"]["replicas"] = setting.servers;
  spec["workers"]["replicas"] = setting.workers;
  if (setting.threads) spec["workers"]["threads"] = *setting.threads;
  if (setting.slack) spec["synchronization"] = api::SynchronizationFields(tuner::SyncModeOf(*setting.slack));
  return spec;
}

}  // namespace attune::controller
