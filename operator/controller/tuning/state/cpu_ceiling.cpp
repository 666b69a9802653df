#include "operator/controller/tuning/state/cpu_ceiling.h"

#include <algorithm>

namespace attune::controller {

void CpuCeiling::Narrow(JobSetting& high) const {
  for (const auto cpu : {&JobSetting::worker_millicores, &JobSetting::server_millicores}) {
    if (now_.*cpu) high.*cpu = std::min((high.*cpu).value_or(*(now_.*cpu)), *(now_.*cpu));
  }
}

std::optional<std::string> CpuCeiling::Lower(const InfeasibleCpu& size, const JobSetting& from) {
  constexpr double kLevel = 1.25;  // of the knob, one below
  const auto cpu = size.role == RoleName::kWorker ? &JobSetting::worker_millicores : &JobSetting::server_millicores;
  const int32_t before = (from.*cpu).value_or(0);
  if (before >= size.millicores) return std::nullopt;
  const int32_t highest = std::max(before, static_cast<int32_t>(size.millicores / kLevel));
  next_.*cpu = std::min((next_.*cpu).value_or(highest), highest);
  return "the platform says that " + std::to_string(size.millicores) + "m of cpu never fit (" + size.text +
         "); from now on " + std::string(ToString(size.role)) + "s get " + std::to_string(highest) + "m" + " at most";
}

void CpuCeiling::Load(const JobSetting& next, bool settled) {
  next_ = next;
  if (settled) now_ = next_;
}

}  // namespace attune::controller
