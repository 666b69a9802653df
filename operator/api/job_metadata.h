// What a TrainingJob has in common with all objects: which kind it is, its name, labels and annotations.
#pragma once

#include <string>
#include <vector>

#include "operator/api/training_job.h"

namespace attune::api {

// False when the object is of another kind, about which nothing more can be said.
bool CheckKind(const Json& object, std::vector<FieldProblem>& problems);

// Of metadata.managedFields: TrainingJob::replicas_manager.
std::string ReplicasManager(const Json& managed_fields);

void ParseMetadata(const Json& metadata, TrainingJob& job, std::vector<FieldProblem>& problems);

}  // namespace attune::api
