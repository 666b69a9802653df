#include "operator/controller/actions/action.h"

namespace attune::controller {
namespace {

std::string NameOf(const kube::Json& object) { return std::string(kube::Name(object)); }

struct Describer {
  std::string operator()(const CreatePod& a) const { return "CreatePod " + NameOf(a.pod) + Why(a.reason); }
  std::string operator()(const CreateService& a) const { return "CreateService " + NameOf(a.service) + Why(a.reason); }
  std::string operator()(const CreatePodDisruptionBudget& a) const {
    return "CreatePodDisruptionBudget " + NameOf(a.budget) + Why(a.reason);
  }
  std::string operator()(const CreateNetworkPolicy& a) const {
    return "CreateNetworkPolicy " + NameOf(a.policy) + Why(a.reason);
  }
  std::string operator()(const CreateSecret& a) const { return "CreateSecret " + a.name + Why(a.reason); }
  std::string operator()(const PatchPod& a) const { return "PatchPod " + a.name + Why(a.reason); }
  std::string operator()(const PatchJob& a) const {
    return "PatchJob " + a.patch.value("spec", a.patch.at("metadata")).dump() + Why(a.reason);
  }
  std::string operator()(const ChooseSettings& a) const {
    return std::string(kActChooseSettings) + " " + a.spec.dump() + Why(a.reason);
  }
  std::string operator()(const OpenTuningRecord& a) const {
    return std::string(kActOpenTuningRecord) + " " + a.name + Why(a.reason);
  }
  std::string operator()(const WriteTuningRecord& a) const {
    return std::string(kActWriteTuningRecord) + " " + a.name + Why(a.reason);
  }
  std::string operator()(const KeepTuningHistory& a) const { return kActKeepTuningHistory + Why(a.reason); }
  std::string operator()(const CreateWorkload& a) const {
    return "CreateWorkload " + NameOf(a.workload) + Why(a.reason);
  }
  std::string operator()(const PatchWorkload& a) const { return "PatchWorkload " + a.name + Why(a.reason); }
  std::string operator()(const DeleteWorkload& a) const { return "DeleteWorkload " + a.name + Why(a.reason); }
  std::string operator()(const ResizePod& a) const { return "ResizePod " + a.name + Why(a.reason); }
  std::string operator()(const DeletePod& a) const { return "DeletePod " + a.name + Why(a.reason); }
  std::string operator()(const SendDrain& a) const { return "SendDrain " + a.name + Why(a.reason); }
  std::string operator()(const SendDirective& a) const {
    return "SendDirective " + a.name + " " + a.key + Why(a.reason);
  }
  std::string operator()(const PatchPodDisruptionBudget& a) const {
    return "PatchPodDisruptionBudget " + a.name + " " + std::to_string(a.min_available) + Why(a.reason);
  }
  std::string operator()(const WriteStatus& a) const { return "WriteStatus " + a.status.phase + Why(a.reason); }
  std::string operator()(const EmitEvent& a) const { return "EmitEvent " + a.event_reason + Why(a.note); }
  std::string operator()(const DeleteJob& a) const { return "DeleteJob" + Why(a.reason); }
  std::string operator()(const RequeueAfter& a) const {
    return "RequeueAfter " + std::to_string(Seconds(a.delay)) + " s" + Why(a.reason);
  }

  static std::string Why(const std::string& reason) { return " (" + reason + ")"; }
};

}  // namespace

std::string Describe(const Action& action) { return std::visit(Describer{}, action); }

std::string KindOf(const Action& action) {
  const std::string text = Describe(action);
  return text.substr(0, text.find(' '));
}

std::string Identity(const Action& action) {
  if (std::holds_alternative<WriteStatus>(action) || std::holds_alternative<PatchJob>(action) ||
      std::holds_alternative<ChooseSettings>(action))
    return KindOf(action);
  // Letting go of a pod does not wait for a mark that was refused.
  if (const auto* patch = std::get_if<PatchPod>(&action);
      patch != nullptr && patch->patch.at("metadata").contains("finalizers")) {
    return "ReleasePod " + patch->name;
  }
  const std::string text = Describe(action);
  return text.substr(0, text.find(" ("));
}

}  // namespace attune::controller
