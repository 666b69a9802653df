// Every field of a pod template against the schema of core/v1 (pod_schema.h) and against what the schema cannot say:
// quantities, names, ports, mounts, one source each (pod_rules.h, pod_object_rules.h). For people's manifests: the
// operator takes any template, because its cluster may be newer than the schema, and the cluster has the last say.
#pragma once

#include <string>
#include <vector>

#include "operator/api/training_job.h"

namespace attune::api {

// Adds what is wrong with the template at `path`. metadata is pod_template.h's, apart from the form of its names.
void CheckPodFields(const Json& value, const std::string& path, std::vector<FieldProblem>& problems);

// What may stand at a field of a template, named below the template ("spec.containers[0].tty"); "" for no field.
std::string AllowedInPod(const std::string& field_path);

}  // namespace attune::api
