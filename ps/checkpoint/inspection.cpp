#include "ps/checkpoint/inspection.h"

namespace attune::ps {

StatusOr<std::vector<CheckpointSummary>> InspectCheckpoints(FileSystem& files, const std::filesystem::path& directory,
                                                            CheckpointDirectory::Depth depth) {
  const CheckpointDirectory checkpoints(files, directory);
  ASSIGN_OR_RETURN(const CheckpointDirectory::Listing listing, checkpoints.List());
  if (listing.manifests.empty()) {
    return Error(StatusCode::kNotFound, "'" + directory.string() + "' holds no checkpoint" +
                                            (listing.names.empty() ? "" : ", only files of one that was not finished"));
  }
  std::vector<CheckpointSummary> summaries;
  for (const uint64_t number : listing.manifests) {
    CheckpointSummary& summary =
        summaries.emplace_back(CheckpointSummary{.number = number, .manifest = {}, .status = {}});
    StatusOr<Manifest> manifest = checkpoints.ReadManifest(number);
    summary.status = manifest.status();
    if (!manifest.ok()) continue;
    summary.manifest = *std::move(manifest);
    summary.status = checkpoints.Check(summary.manifest, depth);
  }
  return summaries;
}

}  // namespace attune::ps
