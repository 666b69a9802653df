// Documents that are meant as tuning policies, and all that is wrong with one. Internal to this room.
#pragma once

#include <vector>

#include "operator/api/training_job.h"

namespace attune::api {

// By its kind, a misspelled one included.
bool IsMeantAsPolicy(const Json& object);

// All at once: a wrong kind or version leaves nothing else unsaid.
std::vector<FieldProblem> PolicyProblems(const Json& object);

// Of a document of another kind, where only policies may stand.
FieldProblem NoPolicyProblem(const Json& object);

}  // namespace attune::api
