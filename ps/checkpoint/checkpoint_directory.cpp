#include "ps/checkpoint/checkpoint_directory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <set>

#include "ps/checkpoint/format/filter_file.h"
#include "ps/checkpoint/format/row_file_reader.h"

namespace attune::ps {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kManifestEnd = ".manifest.json";
constexpr std::string_view kTemporaryEnd = ".manifest.json.tmp";
constexpr size_t kDigits = 8;  // at least

std::string Prefix(uint64_t checkpoint) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%08llu", static_cast<unsigned long long>(checkpoint));
  return text.data();
}

// The checkpoint a file belongs to; nothing when it is none of ours.
std::optional<uint64_t> NumberOf(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot < kDigits) return std::nullopt;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + dot, number);
  if (error != std::errc() || end != name.data() + dot || number == 0) return std::nullopt;
  const bool is_ours = name.ends_with(kManifestEnd) || name.ends_with(kTemporaryEnd) || name.ends_with(".rows") ||
                       name.ends_with(".filter");
  return is_ours ? std::optional(number) : std::nullopt;
}

Status NotTheFile(const fs::path& path, const std::string& how) {
  return Error(StatusCode::kDataLoss, "'" + path.string() + "' is not the file its checkpoint names: " + how);
}

Status CheckRowFile(FileSystem& files, const fs::path& path, const CheckpointFile& file, const TableSpec& spec,
                    CheckpointDirectory::Depth depth) {
  ASSIGN_OR_RETURN(const auto reader, RowFileReader::Open(files, path));
  if (reader->size() != file.bytes) {
    return NotTheFile(path,
                      "it has " + std::to_string(reader->size()) + " bytes instead of " + std::to_string(file.bytes));
  }
  if (reader->directory().digest != file.digest || reader->header().checkpoint != file.checkpoint ||
      reader->header().table != spec.name) {
    return NotTheFile(path, "it holds table '" + reader->header().table + "' of checkpoint " +
                                std::to_string(reader->header().checkpoint) + " with another checksum");
  }
  return depth == CheckpointDirectory::Depth::kEveryByte ? reader->Verify() : OkStatus();
}

Status CheckFilterFile(FileSystem& files, const fs::path& path, const CheckpointFile& file) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(files, path, kFilterFileBytesMax));
  const auto records = DecodeFilterRecords(file.checkpoint, bytes);
  if (!records.ok()) {
    return Error(StatusCode::kDataLoss,
                 "'" + path.string() + "' is damaged: " + std::string(Message(records.status())));
  }
  if (bytes.size() != file.bytes || DigestOfFilterFile(bytes) != file.digest) return NotTheFile(path, "it differs");
  return OkStatus();
}

std::string ListOf(const std::vector<uint64_t>& numbers) {
  std::string text;
  for (const uint64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

// Which one of a job's checkpoints is the best, met from the newest on. Mostly it is the newest that is marked as such,
// for each is better than those before. One that was written while its coordinator was lost is not known to the next,
// which may mark a worse one after it: then the older one has the better value, and both are kept.
class BestOfJob {
 public:
  bool MayBe(const Manifest& manifest) const {
    if (!manifest.is_best()) return false;
    const BestCheckpoint& mark = *manifest.cut.best;
    return !best_ || (manifest.job_uid == job_uid_ && mark.metric == best_->metric &&
                      mark.maximize == best_->maximize && IsBetterMetric(mark.value, best_->value, mark.maximize));
  }
  void Take(const Manifest& manifest) {
    job_uid_ = manifest.job_uid;
    if (newest_ == 0) newest_ = manifest.number;
    best_ = manifest.cut.best;
  }
  uint64_t number() const { return best_ ? best_->checkpoint : 0; }  // 0: none
  std::vector<uint64_t> numbers() const {  // the newest one that is marked, and the best one, if it is another
    if (!best_) return {};
    return newest_ == number() ? std::vector{newest_} : std::vector{newest_, number()};
  }

 private:
  std::string job_uid_;
  uint64_t newest_ = 0;
  std::optional<BestCheckpoint> best_;
};

}  // namespace

std::string RowFileName(uint64_t checkpoint, std::string_view table, std::string_view part) {
  return Prefix(checkpoint) + "." + EscapeForFileName(table) + "." + std::string(part) + ".rows";
}
std::string FilterFileName(uint64_t checkpoint, std::string_view part) {
  return Prefix(checkpoint) + "." + std::string(part) + ".filter";
}
std::string ManifestFileName(uint64_t checkpoint) { return Prefix(checkpoint) + std::string(kManifestEnd); }

StatusOr<CheckpointDirectory::Listing> CheckpointDirectory::List() const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(path_));
  Listing listing;
  for (const std::string& name : names) {
    const auto number = NumberOf(name);
    if (!number) continue;
    listing.names.push_back(name);
    listing.highest = std::max(listing.highest, *number);
    if (name.ends_with(kManifestEnd)) listing.manifests.push_back(*number);
  }
  std::sort(listing.manifests.begin(), listing.manifests.end());
  return listing;
}

StatusOr<Manifest> CheckpointDirectory::ReadManifest(uint64_t number) const {
  const fs::path path = path_ / ManifestFileName(number);
  ASSIGN_OR_RETURN(const std::string text, ReadWhole(files_, path, kManifestBytesMax));
  StatusOr<Manifest> manifest = DecodeManifest(text);
  if (!manifest.ok()) return Annotate(manifest.status(), "'" + path.string() + "'");
  if (manifest->number != number) return NotTheFile(path, "it is of checkpoint " + std::to_string(manifest->number));
  return manifest;
}

Status CheckpointDirectory::Check(const Manifest& manifest, Depth depth) const {
  for (const CheckpointTable& table : manifest.tables) {
    for (const CheckpointFile& file : table.files) {
      RETURN_IF_ERROR(CheckRowFile(files_, path_ / file.name, file, table.spec, depth));
    }
  }
  for (const CheckpointFile& file : manifest.filters) {
    RETURN_IF_ERROR(CheckFilterFile(files_, path_ / file.name, file));
  }
  return OkStatus();
}

std::vector<uint64_t> CheckpointDirectory::Alternatives(uint64_t than, std::string_view damage) const {
  std::vector<uint64_t> whole;
  const StatusOr<Listing> listing = List();
  if (!listing.ok()) return whole;
  for (auto number = listing->manifests.rbegin(); number != listing->manifests.rend(); ++number) {
    if (*number == than) continue;
    const StatusOr<Manifest> manifest = ReadManifest(*number);
    if (!manifest.ok() || !Check(*manifest, Depth::kStructure).ok()) continue;
    const std::vector<CheckpointFile> all = manifest->AllFiles();
    const bool is_touched = std::any_of(all.begin(), all.end(), [&](const CheckpointFile& file) {
      return damage.find(file.name) != std::string_view::npos;
    });
    if (!is_touched) whole.push_back(*number);
  }
  return whole;
}

// --- writing

StatusOr<uint64_t> CheckpointDirectory::NextNumber() const {
  RETURN_IF_ERROR(files_.CreateDirectories(path_));
  ASSIGN_OR_RETURN(const Listing listing, List());
  return listing.highest + 1;
}

Status CheckpointDirectory::Commit(const Manifest& manifest) const {
  if (const Status status = Check(manifest, Depth::kStructure); !status.ok()) {
    return Error(StatusCode::kFailedPrecondition,
                 "a file that a server wrote below '" + path_.string() +
                     "' is not seen by the coordinator, so checkpoint " + std::to_string(manifest.number) +
                     " was given up; the servers must share the directory (spec.model.claim of the job): " +
                     std::string(Message(status)));
  }
  const fs::path temporary = path_ / (Prefix(manifest.number) + std::string(kTemporaryEnd));
  const auto write = [&]() -> Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files_.Create(temporary));
    RETURN_IF_ERROR(file->Append(EncodeManifest(manifest)));
    RETURN_IF_ERROR(file->Sync());
    RETURN_IF_ERROR(file->Close());
    // Names of the files come before the name of what refers to them.
    RETURN_IF_ERROR(files_.SyncDirectory(path_));
    return files_.Rename(temporary, path_ / ManifestFileName(manifest.number));
  };
  if (Status status = write(); !status.ok()) {
    (void)files_.Remove(temporary);  // otherwise the next checkpoint does
    return status;
  }
  return files_.SyncDirectory(path_);
}

// The newest readable manifests of this job, its best ones, all of others, and unreadable ones: their files may still
// be of use to another program.
StatusOr<CheckpointDirectory::Kept> CheckpointDirectory::ManifestsToKeep(const Listing& listing, uint32_t retained,
                                                                         std::string_view job_uid) const {
  Kept kept;
  uint32_t whole = 0;
  BestOfJob best;
  for (auto number = listing.manifests.rbegin(); number != listing.manifests.rend(); ++number) {
    const StatusOr<Manifest> manifest = ReadManifest(*number);
    if (manifest.status().code() == StatusCode::kUnavailable) return manifest.status();
    const bool is_foreign = manifest.ok() && manifest->job_uid != job_uid;
    kept.shared = kept.shared || is_foreign;
    const bool is_candidate = !is_foreign && manifest.ok() && best.MayBe(*manifest);
    const bool is_recent = is_foreign || whole < retained;
    const bool is_whole =
        (is_candidate || (is_recent && !is_foreign)) && manifest.ok() && Check(*manifest, Depth::kStructure).ok();
    if (is_recent) kept.manifests.push_back(*number);
    whole += is_whole && is_recent && !is_foreign ? 1 : 0;
    if (is_candidate && is_whole) best.Take(*manifest);
  }
  for (const uint64_t number : best.numbers()) {
    if (std::ranges::find(kept.manifests, number) == kept.manifests.end()) kept.manifests.push_back(number);
  }
  return kept;
}

Status CheckpointDirectory::Prune(uint64_t number, uint32_t retained, std::string_view job_uid,
                                  const std::set<uint64_t>& begun) const {
  ASSIGN_OR_RETURN(const Listing listing, List());
  ASSIGN_OR_RETURN(const Kept kept, ManifestsToKeep(listing, std::max(retained, 1U), job_uid));
  std::set<std::string> needed;
  std::set<uint64_t> unreadable;
  for (const uint64_t keep : kept.manifests) {
    needed.insert(ManifestFileName(keep));
    const StatusOr<Manifest> manifest = ReadManifest(keep);
    if (!manifest.ok()) {
      unreadable.insert(keep);
      continue;
    }
    for (const CheckpointFile& file : manifest->AllFiles()) needed.insert(file.name);
  }
  // Files of a checkpoint that is this job's: its manifest says so, or this job began it.
  const std::set<uint64_t> finished(listing.manifests.begin(), listing.manifests.end());
  const auto is_garbage = [&](const std::string& name) {
    const uint64_t of = *NumberOf(name);
    const bool is_ours = !kept.shared || finished.contains(of) || begun.contains(of);
    return of <= number && is_ours && !needed.contains(name) && !unreadable.contains(of);
  };
  // Manifests first, durably: a checkpoint is gone before its files are.
  bool removed_manifest = false;
  for (const std::string& name : listing.names) {
    if (!name.ends_with(kManifestEnd) || !is_garbage(name)) continue;
    RETURN_IF_ERROR(files_.Remove(path_ / name));
    removed_manifest = true;
  }
  if (removed_manifest) RETURN_IF_ERROR(files_.SyncDirectory(path_));
  for (const std::string& name : listing.names) {
    if (!name.ends_with(kManifestEnd) && is_garbage(name)) RETURN_IF_ERROR(files_.Remove(path_ / name));
  }
  return OkStatus();
}

// --- opening

StatusOr<OpenedCheckpoint> OpenCheckpoint(FileSystem& files, const fs::path& directory,
                                          std::optional<uint64_t> number) {
  const CheckpointDirectory checkpoints(files, directory);
  StatusOr<CheckpointDirectory::Listing> listing = checkpoints.List();
  if (!listing.ok()) return Annotate(listing.status(), "no checkpoint can be read");
  const auto none = [&](const std::string& which) {
    return Error(StatusCode::kNotFound,
                 "'" + directory.string() + "' holds no " + which +
                     (listing->manifests.empty() ? std::string(": no file there ends with ") + std::string(kManifestEnd)
                                                 : ", it holds " + ListOf(listing->manifests)));
  };
  if (number) {
    const auto& all = listing->manifests;
    if (std::find(all.begin(), all.end(), *number) == all.end()) return none("checkpoint " + std::to_string(*number));
    listing->manifests = {*number};
  }
  if (listing->manifests.empty()) return none("checkpoint");
  OpenedCheckpoint opened{.directory = directory, .manifest = {}, .skipped = {}};
  Status first;
  for (auto it = listing->manifests.rbegin(); it != listing->manifests.rend(); ++it) {
    StatusOr<Manifest> manifest = checkpoints.ReadManifest(*it);
    Status status = manifest.status();
    if (status.ok()) status = checkpoints.Check(*manifest, CheckpointDirectory::Depth::kStructure);
    if (status.ok()) {
      opened.manifest = *std::move(manifest);
      return opened;
    }
    status = Annotate(status, "checkpoint " + std::to_string(*it));
    opened.skipped.emplace_back(Message(status));
    if (first.ok()) first = status;
  }
  if (first.code() == StatusCode::kNotFound) first = Error(StatusCode::kDataLoss, std::string(Message(first)));
  const std::vector<uint64_t> others =
      number ? checkpoints.Alternatives(*number, Message(first)) : std::vector<uint64_t>();
  if (!others.empty()) {
    return Error(first.code(), std::string(Message(first)) + "; whole are: " + ListOf(others));
  }
  return Error(first.code(), std::string(Message(first)) + "; no other checkpoint in '" + directory.string() +
                                 "' is whole, restore one from a copy");
}

StatusOr<OpenedCheckpoint> OpenBestCheckpoint(FileSystem& files, const fs::path& directory) {
  const CheckpointDirectory checkpoints(files, directory);
  const StatusOr<CheckpointDirectory::Listing> listing = checkpoints.List();
  if (!listing.ok()) return Annotate(listing.status(), "no checkpoint can be read");
  OpenedCheckpoint opened{.directory = directory, .manifest = {}, .skipped = {}};
  BestOfJob best;
  for (auto number = listing->manifests.rbegin(); number != listing->manifests.rend(); ++number) {
    StatusOr<Manifest> manifest = checkpoints.ReadManifest(*number);
    if (manifest.ok() && !best.MayBe(*manifest)) continue;
    Status status = manifest.status();
    if (status.ok()) status = checkpoints.Check(*manifest, CheckpointDirectory::Depth::kStructure);
    if (status.ok()) {
      best.Take(*manifest);
      opened.manifest = *std::move(manifest);
    } else {
      opened.skipped.emplace_back(Message(Annotate(status, "checkpoint " + std::to_string(*number))));
    }
  }
  if (best.number() != 0) return opened;
  std::string text = "'" + directory.string() + "' holds no checkpoint that is marked as the best";
  if (!opened.skipped.empty()) text += " and is whole (" + opened.skipped.front() + ")";
  return Error(StatusCode::kNotFound,
               text + "; jobs with spec.checkpoint.best write one" +
                   (listing->manifests.empty() ? "" : "; it holds " + ListOf(listing->manifests)));
}

fs::path FindCheckpoints(FileSystem& files, const fs::path& directory) {
  const auto holds_some = [&](const fs::path& path) {
    const auto listing = CheckpointDirectory(files, path).List();
    return listing.ok() && !listing->manifests.empty();
  };
  const fs::path tables = directory / "tables";
  return !holds_some(directory) && holds_some(tables) ? tables : directory;
}

}  // namespace attune::ps
