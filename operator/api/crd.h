// The CustomResourceDefinition, made from the table of fields. crds/trainingjob.yaml is its text; a test keeps both
// equal (ATTUNE_UPDATE_GOLDEN=1 rewrites the file).
#pragma once

#include "operator/api/training_job.h"

namespace attune::api {

Json TrainingJobCrd();
// A column that `kubectl get` prints.
Json CrdColumn(const char* name, const char* path, const char* type = "string");

}  // namespace attune::api
