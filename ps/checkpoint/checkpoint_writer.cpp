#include "ps/checkpoint/checkpoint_writer.h"

#include <algorithm>

namespace attune::ps {
namespace {

constexpr uint64_t kChainMax = 16;  // checkpoints that build on one another

}  // namespace

uint64_t NextBase(const Manifest& last) {
  if (last.base == 0) return last.number;
  std::vector<uint64_t> writers;
  uint64_t oldest = last.number;
  for (const CheckpointFile& file : last.AllFiles()) {
    writers.push_back(file.checkpoint);
    oldest = std::min(oldest, file.checkpoint);
  }
  std::sort(writers.begin(), writers.end());
  const auto count = static_cast<uint64_t>(std::unique(writers.begin(), writers.end()) - writers.begin());
  uint64_t first_bytes = 0, added_bytes = 0;
  for (const CheckpointFile& file : last.AllFiles()) {
    (file.checkpoint == oldest ? first_bytes : added_bytes) += file.bytes;
  }
  return added_bytes >= first_bytes || count >= kChainMax ? 0 : last.number;
}

StatusOr<CheckpointPlan> CheckpointWriter::Begin(const std::filesystem::path& directory) {
  const CheckpointDirectory checkpoints(files_, directory);
  ASSIGN_OR_RETURN(const uint64_t number, checkpoints.NextNumber());
  CheckpointPlan plan{.directory = directory, .number = number};
  if (begun_in_ != directory) begun_.clear();
  begun_in_ = directory;
  begun_.insert(number);
  if (options_.incremental && last_ && last_directory_ == directory &&
      checkpoints.Check(*last_, CheckpointDirectory::Depth::kStructure).ok()) {
    plan.base = NextBase(*last_);
  }
  return plan;
}

Status CheckpointWriter::Commit(const CheckpointPlan& plan, const CheckpointParts& parts) {
  Manifest manifest{
      .number = plan.number,
      .base = plan.base,
      .job_uid = options_.job_uid,
      .written_at = std::chrono::duration_cast<std::chrono::seconds>(time_.WallNow().time_since_epoch()).count(),
      .protocol_version = options_.protocol_version,
      .cut = parts.cut,
      .tables = {},
      .filters = parts.filters};
  for (const CheckpointParts::Table& table : parts.tables) {
    CheckpointTable& entry =
        manifest.tables.emplace_back(CheckpointTable{.spec = table.spec, .files = {}, .rows = table.rows});
    if (plan.base != 0) {
      const CheckpointTable* before = last_->Find(table.spec.name);
      if (before != nullptr) entry.files = before->files;
    }
    entry.files.insert(entry.files.end(), table.files.begin(), table.files.end());
  }
  const CheckpointDirectory checkpoints(files_, plan.directory);
  RETURN_IF_ERROR(checkpoints.Commit(manifest));
  last_ = std::move(manifest);
  last_directory_ = plan.directory;
  leftover_ = checkpoints.Prune(plan.number, options_.retained, options_.job_uid, begun_);
  if (leftover_.ok()) std::erase_if(begun_, [&](uint64_t begun) { return begun + kChainMax < plan.number; });
  return OkStatus();
}

}  // namespace attune::ps
