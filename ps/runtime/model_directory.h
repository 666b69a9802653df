// The tables of a saved model on disk:
//   tables/manifest.json           written last; without it the directory is no model
//   tables/<table>.<part>-of-<n>   rows of one server (ps/store/table_file.h)
// Any number of servers can load what any number has saved: each reads all files and keeps the rows it is home of.
// These functions block on the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ps/core/coordinator_core.h"
#include "ps/core/messages.h"
#include "ps/store/table_store.h"

namespace attune::ps {

inline constexpr char kManifestName[] = "manifest.json";
inline constexpr uint64_t kManifestBytesMax = 64 << 20;

// A file name for a table: letters, digits, '-', '_' and '.' stay, others become %XX. At most 200 bytes.
std::string TableFileName(std::string_view table, TableId id, uint32_t part, uint32_t parts);

// Size and a 64-bit checksum of a file, as the manifest names them.
StatusOr<WrittenFile> DescribeFile(const std::filesystem::path& directory, const std::string& name);

// Writes each store's rows below `directory`, which is created if missing. `stores` go by TableId - 1 and may hold
// null.
StatusOr<std::vector<WrittenFile>> WriteTableFiles(const std::filesystem::path& directory, std::string_view job_uid,
                                                   const std::vector<const TableStore*>& stores, uint32_t part,
                                                   uint32_t parts);

// Checks that every file is there in its size, then writes the manifest. FailedPrecondition: this process does not see
// a file that a server says it wrote, so they do not share the directory.
Status WriteManifest(const ManifestOrder& order, std::string_view job_uid);

// What a manifest says.
class SavedModel {
 public:
  struct File {
    std::string name;
    uint64_t bytes = 0;
    uint64_t checksum = 0;
  };

  // NotFound: no manifest there. DataLoss: one that cannot be read.
  static StatusOr<SavedModel> Open(const std::filesystem::path& directory);

  bool Has(const std::string& table) const { return files_.contains(table); }
  // Inserts the saved rows that `keep` accepts into `store`. Nothing for a table the model does not have. DataLoss: a
  // file is missing, damaged or not the one that was saved.
  Status Load(TableStore& store, const std::function<bool(Key)>& keep) const;

 private:
  std::filesystem::path directory_;
  std::map<std::string, std::vector<File>> files_;  // by table
};

}  // namespace attune::ps
