// Losses as the status keeps them: {"machine": "node-2", "pod": 4711, "time": "2026-..."}.
#include "operator/api/status/machine_loss.h"

#include <map>

#include "operator/api/field_binding.h"

namespace attune::api {

std::vector<std::string> AvoidedMachines(const std::vector<MachineLoss>& losses) {
  std::map<std::string, size_t> counts;
  for (const MachineLoss& loss : losses) ++counts[loss.machine];
  std::vector<std::string> avoided;
  for (const auto& [machine, count] : counts) {
    if (count >= MachineLoss::kToAvoid) avoided.push_back(machine);
  }
  return avoided;
}

void Binding<std::vector<MachineLoss>>::Set(std::vector<MachineLoss>& target, const Json& value) {
  for (const Json& each : value) {
    const std::string machine = each.is_object() ? TextAt(each, "machine") : "";
    if (machine.empty()) continue;
    const auto pod = each.find("pod");
    const bool is_number = pod != each.end() && pod->is_number_unsigned() && pod->get<uint64_t>() <= UINT32_MAX;
    target.push_back({.machine = machine, .pod = is_number ? pod->get<uint32_t>() : 0, .time = TextAt(each, "time")});
  }
}

Json Binding<std::vector<MachineLoss>>::Get(const std::vector<MachineLoss>& source) {
  if (source.empty()) return {};
  Json list = Json::array();
  for (const MachineLoss& loss : source)
    list.push_back({{"machine", loss.machine}, {"pod", loss.pod}, {"time", loss.time}});
  return list;
}

}  // namespace attune::api
