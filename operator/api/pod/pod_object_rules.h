// What the members of one object of a pod template must be to each other: one that says what the object is, names that
// differ. Internal to this room.
#pragma once

#include <string>
#include <vector>

#include "operator/api/pod/pod_schema.h"
#include "operator/api/training_job.h"

namespace attune::api {

// Of an object of `type` at `path`.
void CheckChoice(const SchemaType& type, const Json& value, const std::string& path,
                 std::vector<FieldProblem>& problems);
// No two containers, volumes or mounts of a pod in one place.
void CheckUnique(const SchemaType& type, const Json& value, const std::string& path,
                 std::vector<FieldProblem>& problems);

}  // namespace attune::api
