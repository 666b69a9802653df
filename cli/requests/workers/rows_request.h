// Asking a job what its workers are to make of announced rows (spec.rowManagement). Pure.
#pragma once

#include <string>

#include "base/row_management.h"
#include "base/status.h"
#include "cli/requests/job_words.h"
#include "operator/api/training_job.h"

namespace attune::cli {

// In any case of its letters. InvalidArgument says which words there are.
StatusOr<RowManagement> ParseRowManagement(const std::string& word);

// See SortModeWords.
ModeWords SortRowsWords(std::string first, std::string second);

// FailedPrecondition when the job has ended, or runs with servers that cannot change it.
Status CheckRowManagement(const api::TrainingJob& job);
// Merge patch of the job.
kube::Json RowManagementPatch(RowManagement wanted);

}  // namespace attune::cli
