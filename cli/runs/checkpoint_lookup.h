// Which checkpoint a run on this machine continues from, found before any process starts: one lookup with one wording
// for `attune run --resume`, `attune resume` and spec.checkpoint.resumeFrom.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/runs/run_record.h"
#include "operator/kube/object.h"

namespace attune::cli {

// What is looked for, in the words of an error about it.
struct CheckpointRequest {
  std::string what;                           // "--resume old (/home/me/old)"
  std::vector<std::filesystem::path> places;  // absolute, the likeliest first; at least one
  std::string otherwise;                      // what the user can do instead
  bool best = false;                          // the one that is marked as the best, not the newest
};
// The directory, below or at the first place where there is one, whose newest, or best, checkpoint is whole in
// structure.
// NotFound: none, and what lies there; DataLoss: what is wrong with the ones that were found.
StatusOr<std::filesystem::path> FindCheckpoint(const CheckpointRequest& request);

// Where checkpoints of `job` can lie in a directory that may be one of checkpoints, a model, a claim or a run
// directory.
std::vector<std::filesystem::path> CheckpointPlaces(const std::filesystem::path& directory, const std::string& job);

// What `inspect` and `export` read: a directory of checkpoints or of a model, or where those of a run lie. `wanted` may
// be a directory, or the name of a run or of a job (its newest run). Where nothing is found it is left as it is, for
// the error that follows; InvalidArgument where several runs have the name.
StatusOr<std::filesystem::path> FindModelDirectory(const std::string& wanted);

// `wanted` of `run --resume`, relative to the current directory. `job`: the one that is started.
StatusOr<std::filesystem::path> FindResumeDirectory(const std::string& wanted, const std::string& job,
                                                    bool best = false);
// The newest, or best, that an ended run left.
StatusOr<std::filesystem::path> FindCheckpointOf(const RunRecord& run, bool best = false);
// Checks spec.checkpoint.resumeFrom of a job that will run here, and makes it name the directory that was found. What
// the job's own volumes hold is looked for where they lie on this machine.
Status ResolveResumeFrom(kube::Json& job);

}  // namespace attune::cli
