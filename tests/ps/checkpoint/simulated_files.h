// A file system in memory that crashes when asked to: at a given step the process is gone, and what is found after the
// restart is what POSIX promises and no more.
//   - Bytes that were not synced: any prefix of them is there, maybe with a hole of zeros at its end.
//   - Names that were created, renamed or removed since the last sync of the directory: each such change may have
//     happened or not, independently.
// One directory. For one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "ps/checkpoint/format/file_system.h"

namespace attune::ps {

class SimulatedFiles final : public FileSystem {
 public:
  // Steps are calls that change something, counted from 1. At step `at` and after it every call fails and nothing
  // changes any more, until Restart. 0: never.
  void CrashAt(uint64_t at) { crash_at_ = at, steps_ = 0; }
  // Step `at` alone fails with this, the process lives on.
  void FailAt(uint64_t at, Status status) { fail_at_ = at, steps_ = 0, failure_ = std::move(status); }
  uint64_t steps() const { return steps_; }
  bool crashed() const { return crashed_; }
  // What is left after the crash, by chance from the seed; calls work again.
  void Restart(uint64_t seed);

  std::vector<std::string> Names() const;
  // For damage done by hand.
  std::string& Content(const std::string& path) { return entries_.at(path)->content; }

  StatusOr<std::unique_ptr<WritableFile>> Create(const std::filesystem::path& path) override;
  StatusOr<std::unique_ptr<ReadableFile>> Open(const std::filesystem::path& path) override;
  StatusOr<std::vector<std::string>> List(const std::filesystem::path& directory) override;
  Status Rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  Status Remove(const std::filesystem::path& path) override;
  Status SyncDirectory(const std::filesystem::path& directory) override;
  Status CreateDirectories(const std::filesystem::path& directory) override;

 private:
  friend class SimulatedWritableFile;
  struct Inode {
    std::string content;
    size_t synced = 0;  // bytes that are safe
  };
  using Entries = std::map<std::string, std::shared_ptr<Inode>>;
  struct Change {  // of the directory, not synced
    std::string name;
    std::shared_ptr<Inode> inode;  // null: the name goes
    std::string renamed_from;      // goes with it
  };
  static void Apply(const Change& change, Entries& entries);
  void Do(Change change);
  Status Step();

  Entries entries_;          // as the process sees them
  Entries durable_entries_;  // as of the last sync
  std::vector<Change> changes_;
  uint64_t steps_ = 0, crash_at_ = 0, fail_at_ = 0;
  Status failure_;
  bool crashed_ = false;
};

}  // namespace attune::ps
