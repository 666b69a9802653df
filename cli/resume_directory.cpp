#include "cli/resume_directory.h"

#include <algorithm>
#include <vector>

#include "ps/checkpoint/checkpoint_directory.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

// Where a run keeps checkpoints: beside the model, which lies in one of the claims of the run.
std::vector<fs::path> Candidates(const fs::path& directory) {
  std::vector<fs::path> candidates{directory, directory / "checkpoints"};
  std::error_code error;
  std::vector<fs::path> claims;
  for (fs::directory_iterator entry(directory / "claims", error), end; !error && entry != end; entry.increment(error))
    claims.push_back(entry->path());
  std::sort(claims.begin(), claims.end());
  for (const fs::path& claim : claims) {
    candidates.push_back(claim / "checkpoints");
    candidates.push_back(claim);
  }
  return candidates;
}

bool HoldsCheckpoints(const fs::path& directory) {
  const auto listing = ps::CheckpointDirectory(ps::RealFileSystem(), directory).List();
  return listing.ok() && !listing->manifests.empty();
}

}  // namespace

StatusOr<fs::path> FindResumeDirectory(const std::string& wanted) {
  std::error_code error;
  const fs::path directory = fs::absolute(wanted, error).lexically_normal();
  const std::string shown = wanted == directory ? wanted : wanted + " (" + directory.string() + ")";
  if (!fs::is_directory(directory, error)) {
    return Error(
        StatusCode::kInvalidArgument,
        "--resume " + shown + (fs::exists(directory, error) ? " is no directory" : ": there is no such directory"));
  }
  for (const fs::path& candidate : Candidates(directory)) {
    const fs::path found = ps::FindCheckpoints(ps::RealFileSystem(), candidate);
    if (!HoldsCheckpoints(found)) continue;
    const auto opened = ps::OpenCheckpoint(ps::RealFileSystem(), found);
    if (opened.ok()) return found;
    return Annotate(opened.status(), "--resume " + shown);
  }
  return Error(StatusCode::kInvalidArgument,
               "--resume " + shown +
                   " holds no checkpoint, neither itself nor in checkpoints or claims/*/checkpoints; a job writes them "
                   "when spec.checkpoint.intervalSeconds or `attune checkpoint JOB` asks for them");
}

}  // namespace attune::cli
