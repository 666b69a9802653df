#include "cli/requests/workers/rows_request.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "cli/requests/bad_request.h"

namespace attune::cli {

StatusOr<RowManagement> ParseRowManagement(const std::string& word) {
  const auto lower = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  for (size_t i = 0; i < kRowManagementNames.size(); ++i) {
    if (lower(word) == lower(kRowManagementNames[i])) return static_cast<RowManagement>(i);
  }
  return Error(StatusCode::kInvalidArgument,
               "\"" + word +
                   "\": write adaptive (announced rows are fetched ahead and copied while that makes the job faster), "
                   "static (never) or always");
}

ModeWords SortRowsWords(std::string first, std::string second) {
  return SortModeWords(std::move(first), std::move(second),
                       [](const std::string& word) { return ParseRowManagement(word).ok(); });
}

Status CheckRowManagement(const api::TrainingJob& job) {
  RETURN_IF_ERROR(CheckNotEnded(job, "change"));
  if (job.status.abilities && !job.status.abilities->row_management) {
    return Error(StatusCode::kFailedPrecondition,
                 "the servers of job " + job.name +
                     " cannot change what workers make of announced rows (status.abilities.rowManagement is false); "
                     "run it with images of this release");
  }
  return OkStatus();
}

kube::Json RowManagementPatch(RowManagement wanted) { return {{"spec", {{"rowManagement", ToString(wanted)}}}}; }

}  // namespace attune::cli
