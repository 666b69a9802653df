#include "cli/pull/file_copy.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/sha256.h"

namespace attune::cli {
namespace {

constexpr int kRounds = 3;
constexpr size_t kNamedMax = 5;  // files in the text of an error

uint64_t BlockAt(const ListedFile& file, uint64_t offset) { return std::min(kFileBlockBytes, file.size - offset); }

class FileCopy {
 public:
  FileCopy(ShownFiles& shown, CopyTarget& target, const CopyOptions& options)
      : shown_(shown), target_(target), options_(options) {}

  StatusOr<CopyResult> Run() {
    for (int round = 1;; ++round) {
      const Status status = CopyAll();
      if (status.ok()) return std::move(result_);
      if (status.code() != StatusCode::kAborted) return status;
      if (round == kRounds) {
        return Annotate(status,
                        "files change faster than they are copied: wait until the job has saved its model, and run the "
                        "command again, it continues; the last one");
      }
    }
  }

 private:
  struct Item {
    size_t place = 0;  // in the listing
    ListedFile file;
  };

  // One round. Aborted: something was not as it was listed; all else is copied.
  Status CopyAll() {
    ASSIGN_OR_RETURN(const FileListing listing, shown_.List());
    result_ = {.files = {}, .left_out = listing.left_out, .unwanted = 0, .bytes = 0, .received = result_.received};
    std::vector<Item> items = Wanted(listing);
    ASSIGN_OR_RETURN(const std::vector<Item> missing, Compare(items));
    RETURN_IF_ERROR(RemoveParts(items));
    progress_ = {.copying = true};
    for (const Item& item : missing) progress_.total += item.file.size;
    Status changed;
    for (const Item& item : missing) {
      Status status = Copy(item);
      if (!status.ok() && status.code() != StatusCode::kAborted) return status;
      if (!status.ok()) changed = std::move(status);
    }
    return changed;
  }

  std::vector<Item> Wanted(const FileListing& listing) {
    std::vector<Item> items;
    for (size_t place = 0; place < listing.files.size(); ++place) {
      const ListedFile& file = listing.files[place];
      // What an interrupted copy left at the source is no file of the model, and its name is taken here.
      if (options_.wanted(file.path) && !file.path.ends_with(kPartSuffix)) {
        items.push_back({place, file});
        result_.bytes += file.size;
      } else {
        ++result_.unwanted;
      }
    }
    std::ranges::stable_sort(items, {}, [](const Item& item) { return item.file.written_at; });
    return items;
  }

  // Those that have to be copied.
  StatusOr<std::vector<Item>> Compare(const std::vector<Item>& items) {
    std::vector<Item> missing;
    std::string differing;
    size_t different = 0;
    progress_ = {};
    for (const Item& item : items) {
      ASSIGN_OR_RETURN(const std::optional<uint64_t> size, target_.SizeOf(item.file.path));
      if (size == item.file.size) progress_.total += item.file.size;
    }
    for (const Item& item : items) {
      ASSIGN_OR_RETURN(const Here here, LookHere(item));
      if (here == Here::kSame) {
        result_.files.push_back({item.file.path, item.file.size, !own_.contains(item.file.path)});
        continue;
      }
      missing.push_back(item);
      if (here == Here::kNothing || own_.contains(item.file.path)) continue;
      if (++different <= kNamedMax) differing += (differing.empty() ? "" : ", ") + item.file.path;
    }
    if (different == 0 || options_.force) return missing;
    return Error(StatusCode::kAlreadyExists,
                 "what is there already differs: " + differing +
                     (different > kNamedMax ? " and " + std::to_string(different - kNamedMax) + " more" : "") +
                     "; it stays as it is. Name another directory, or replace it with --force");
  }

  enum class Here { kNothing, kSame, kDifferent };
  StatusOr<Here> LookHere(const Item& item) {
    const auto own = own_.find(item.file.path);
    if (own != own_.end() && own->second == std::tuple(item.file.size, item.file.written_at)) return Here::kSame;
    ASSIGN_OR_RETURN(const std::optional<uint64_t> size, target_.SizeOf(item.file.path));
    if (!size) return Here::kNothing;
    if (*size != item.file.size) return Here::kDifferent;
    ASSIGN_OR_RETURN(const uint64_t same, AgreeingBytes(item, item.file.path, *size));
    return same == item.file.size ? Here::kSame : Here::kDifferent;
  }

  // How far the first blocks of the file at `path` here, of `size` bytes, are those of the shown one.
  StatusOr<uint64_t> AgreeingBytes(const Item& item, const std::string& path, uint64_t size) {
    uint64_t offset = 0;
    while (offset < item.file.size && offset + BlockAt(item.file, offset) <= size) {
      const uint64_t bytes = BlockAt(item.file, offset);
      ASSIGN_OR_RETURN(const std::string here, target_.Sum(path, offset, bytes));
      ASSIGN_OR_RETURN(const std::string there, shown_.Sum(item.place, offset));
      if (here != there) return offset;
      offset += bytes;
      RETURN_IF_ERROR(Advance(bytes));
    }
    return offset;
  }

  Status Copy(const Item& item) {
    const std::string part = item.file.path + kPartSuffix;
    ASSIGN_OR_RETURN(const std::optional<uint64_t> begun, target_.SizeOf(part));
    ASSIGN_OR_RETURN(uint64_t offset, AgreeingBytes(item, part, begun.value_or(0)));
    ASSIGN_OR_RETURN(const std::unique_ptr<TargetFile> file, target_.Open(part, offset));
    while (offset < item.file.size) {
      RETURN_IF_ERROR(CopyBlock(item, offset, *file));
      offset += BlockAt(item.file, offset);
    }
    RETURN_IF_ERROR(file->Finish());
    RETURN_IF_ERROR(target_.Rename(part, item.file.path));
    own_[item.file.path] = {item.file.size, item.file.written_at};
    result_.files.push_back({item.file.path, item.file.size, false});
    options_.copied(result_.files.back());
    return OkStatus();
  }

  Status CopyBlock(const Item& item, uint64_t begin, TargetFile& file) {
    const uint64_t end = begin + BlockAt(item.file, begin);
    Sha256 digest;
    for (uint64_t offset = begin; offset < end;) {
      ASSIGN_OR_RETURN(const std::string piece, shown_.Read(item.place, offset));
      RETURN_IF_ERROR(file.Append(piece));
      digest.Update(piece);
      offset += piece.size();
      result_.received += piece.size();
      RETURN_IF_ERROR(Advance(piece.size()));
    }
    ASSIGN_OR_RETURN(const std::string sum, shown_.Sum(item.place, begin));
    if (sum == digest.Hex()) return OkStatus();
    return Error(StatusCode::kAborted, "'" + item.file.path + "' did not arrive as it is: its checksum from byte " +
                                           std::to_string(begin) + " on differs");
  }

  // Of files that an earlier round began to copy, and that are gone since.
  Status RemoveParts(const std::vector<Item>& items) {
    std::set<std::string> listed;
    for (const Item& item : items) listed.insert(item.file.path);
    for (const std::string& path : listed_before_) {
      if (!listed.contains(path)) RETURN_IF_ERROR(target_.Remove(path + kPartSuffix));
    }
    listed_before_ = std::move(listed);
    return OkStatus();
  }

  Status Advance(uint64_t bytes) {
    progress_.done += bytes;
    return options_.progress(progress_) ? OkStatus() : Error(StatusCode::kCancelled, "interrupted");
  }

  ShownFiles& shown_;
  CopyTarget& target_;
  const CopyOptions& options_;
  CopyResult result_;
  CopyProgress progress_;
  std::map<std::string, std::tuple<uint64_t, int64_t>> own_;  // copied by this call: size and time at the source
  std::set<std::string> listed_before_;                       // in the round before
};

}  // namespace

StatusOr<CopyResult> CopyFiles(ShownFiles& shown, CopyTarget& target, const CopyOptions& options) {
  return FileCopy(shown, target, options).Run();
}

}  // namespace attune::cli
