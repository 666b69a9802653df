#include "tests/ps/checkpoint/simulated_files.h"

#include <algorithm>

namespace attune::ps {

namespace fs = std::filesystem;

class SimulatedWritableFile final : public WritableFile {
 public:
  SimulatedWritableFile(SimulatedFiles& files, std::shared_ptr<SimulatedFiles::Inode> inode)
      : files_(files), inode_(std::move(inode)) {}
  Status Append(std::string_view bytes) override {
    const bool was_alive = !files_.crashed_;
    const Status status = files_.Step();
    if (!status.ok()) bytes = was_alive && files_.crashed_ ? bytes.substr(0, bytes.size() / 2) : "";  // half done
    inode_->content.append(bytes);
    return status;
  }
  Status Sync() override {
    RETURN_IF_ERROR(files_.Step());
    inode_->synced = inode_->content.size();
    return OkStatus();
  }
  Status Close() override { return files_.Step(); }

 private:
  SimulatedFiles& files_;
  const std::shared_ptr<SimulatedFiles::Inode> inode_;
};

namespace {

class SimulatedReadableFile final : public ReadableFile {
 public:
  explicit SimulatedReadableFile(std::string content) : content_(std::move(content)) {}
  uint64_t size() const override { return content_.size(); }
  Status ReadAt(uint64_t offset, std::span<char> bytes) const override {
    if (offset + bytes.size() > content_.size()) return Error(StatusCode::kDataLoss, "read past the end");
    std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
    return OkStatus();
  }

 private:
  const std::string content_;
};

}  // namespace

Status SimulatedFiles::Step() {
  ++steps_;
  if (crash_at_ != 0 && steps_ >= crash_at_) crashed_ = true;
  if (crashed_) return Error(StatusCode::kUnavailable, "the machine is gone");
  return steps_ == fail_at_ ? failure_ : OkStatus();
}

void SimulatedFiles::Apply(const Change& change, Entries& entries) {
  if (!change.renamed_from.empty()) entries.erase(change.renamed_from);
  if (change.inode == nullptr) {
    entries.erase(change.name);
  } else {
    entries[change.name] = change.inode;
  }
}

void SimulatedFiles::Do(Change change) {
  Apply(change, entries_);
  changes_.push_back(std::move(change));
}

void SimulatedFiles::Restart(uint64_t seed) {
  Random random(seed);
  for (const Change& change : changes_) {
    if (random.Chance(0.5)) Apply(change, durable_entries_);
  }
  changes_.clear();
  for (auto& [name, inode] : durable_entries_) {
    const size_t unsynced = inode->content.size() - inode->synced;
    const size_t kept = inode->synced + random.Below(unsynced + 1);
    inode->content.resize(kept);
    const size_t hole = random.Chance(0.3) ? random.Below(kept - inode->synced + 1) : 0;
    std::fill(inode->content.end() - static_cast<std::ptrdiff_t>(hole), inode->content.end(), '\0');
    inode->synced = inode->content.size();
  }
  entries_ = durable_entries_;
  crashed_ = false;
  crash_at_ = fail_at_ = steps_ = 0;
}

std::vector<std::string> SimulatedFiles::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, inode] : entries_) names.push_back(fs::path(name).filename());
  return names;
}

StatusOr<std::unique_ptr<WritableFile>> SimulatedFiles::Create(const fs::path& path) {
  RETURN_IF_ERROR(Step());
  if (entries_.contains(path)) return Error(StatusCode::kAlreadyExists, path.string());
  auto inode = std::make_shared<Inode>();
  Do({.name = path, .inode = inode, .renamed_from = {}});
  return std::make_unique<SimulatedWritableFile>(*this, std::move(inode));
}

StatusOr<std::unique_ptr<ReadableFile>> SimulatedFiles::Open(const fs::path& path) {
  if (crashed_) return Error(StatusCode::kUnavailable, "the machine is gone");
  const auto it = entries_.find(path);
  if (it == entries_.end()) return Error(StatusCode::kNotFound, "no file '" + path.string() + "'");
  return std::make_unique<SimulatedReadableFile>(it->second->content);
}

StatusOr<std::vector<std::string>> SimulatedFiles::List(const fs::path&) {
  if (crashed_) return Error(StatusCode::kUnavailable, "the machine is gone");
  return Names();
}

Status SimulatedFiles::Rename(const fs::path& from, const fs::path& to) {
  RETURN_IF_ERROR(Step());
  const auto it = entries_.find(from);
  if (it == entries_.end()) return Error(StatusCode::kNotFound, "no file '" + from.string() + "'");
  Do({.name = to, .inode = it->second, .renamed_from = from});
  return OkStatus();
}

Status SimulatedFiles::Remove(const fs::path& path) {
  RETURN_IF_ERROR(Step());
  if (!entries_.contains(path)) return Error(StatusCode::kNotFound, "no file '" + path.string() + "'");
  Do({.name = path, .inode = nullptr, .renamed_from = {}});
  return OkStatus();
}

Status SimulatedFiles::SyncDirectory(const fs::path&) {
  RETURN_IF_ERROR(Step());
  durable_entries_ = entries_;
  changes_.clear();
  return OkStatus();
}

Status SimulatedFiles::CreateDirectories(const fs::path&) {
  return crashed_ ? Error(StatusCode::kUnavailable, "the machine is gone") : OkStatus();
}

}  // namespace attune::ps
