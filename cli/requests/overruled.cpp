#include "cli/requests/overruled.h"

#include <algorithm>

#include "operator/api/status/chosen_settings.h"

namespace attune::cli {

Status CheckNotOverruled(const api::TrainingJob& job, const std::string& field, const std::string& value,
                         const std::string& pin) {
  const auto choice =
      std::ranges::find_if(job.chosen, [&](const api::ChosenSetting& each) { return each.field == field; });
  if (choice == job.chosen.end() || choice->instead != value) return OkStatus();
  return Error(StatusCode::kFailedPrecondition,
               job.name + ": the spec says so already, and the tuner has chosen " + api::ToString({*choice}) +
                   " (status.settings); keep it as the spec says with attune tune pin " + pin + " " + job.name);
}

}  // namespace attune::cli
