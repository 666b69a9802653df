// What is wrong with manifests, and what is worth knowing of policies in them: a line each, for people or for programs.
// Pure but for the time zones of this machine.
#pragma once

#include <string>
#include <vector>

#include "operator/api/manifest/manifest.h"

namespace attune::cli {

std::string ProblemLine(const api::Manifest& manifest, const api::FieldProblem& problem, bool json);
// Of a file that cannot be read, or is not YAML.
std::string UnreadableLine(const std::string& file, const Status& status, bool json);
// "night.yaml:7:5: warning: spec.windows[0].schedule: ..."; none for jobs.
std::vector<std::string> AdviceLines(const api::Manifest& manifest, bool json);
// "word2vec" of a job, "ClusterTuningPolicy night" of a policy.
std::string ShownName(const api::Manifest& manifest);

}  // namespace attune::cli
