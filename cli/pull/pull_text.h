// What `attune pull-model` says at its end, to people and to programs. Pure.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/pull/file_copy.h"
#include "operator/kube/object.h"

namespace attune::cli {

// Where files came from and went to, in the words of the end.
struct PulledModel {
  std::string job;
  std::string source;  // "claim models, /var/lib/attune/model/word2vec"
  std::string directory;
  bool checkpoints = false;  // were asked for
};

// NotFound: there was nothing to copy, and why.
Status CheckPulled(const PulledModel& model, const CopyResult& result);
// "word2vec: 12 files, 84 MiB, from claim models, /var/lib/... to word2vec" and what else is to be known.
std::string PulledText(const PulledModel& model, const CopyResult& result);
kube::Json PulledJson(const PulledModel& model, const CopyResult& result);

}  // namespace attune::cli
