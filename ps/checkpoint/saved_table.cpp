#include "ps/checkpoint/saved_table.h"

#include "ps/checkpoint/store_rows.h"

namespace attune::ps {

StatusOr<SavedTable> SavedTable::Open(FileSystem& files, const OpenedCheckpoint& checkpoint, std::string_view table) {
  const CheckpointTable* found = checkpoint.manifest.Find(table);
  if (found == nullptr) {
    std::string names;
    for (const CheckpointTable& other : checkpoint.manifest.tables) {
      names += (names.empty() ? "'" : ", '") + other.spec.name + "'";
    }
    return Error(StatusCode::kNotFound, "checkpoint " + std::to_string(checkpoint.manifest.number) + " in '" +
                                            checkpoint.directory.string() + "' has no table '" + std::string(table) +
                                            "'; it has " + (names.empty() ? "none" : names));
  }
  SavedTable saved;
  saved.files_ = &files;
  saved.directory_ = checkpoint.directory;
  saved.checkpoint_ = checkpoint.manifest.number;
  saved.spec_ = found->spec;
  const RowSizes sizes = RowSizesOf(found->spec);
  for (const CheckpointFile& file : found->files) {
    auto reader = RowFileReader::Open(files, checkpoint.directory / file.name);
    if (!reader.ok()) return saved.Explain(reader.status());
    const RowFileHeader& header = (*reader)->header();
    if ((*reader)->size() != file.bytes || (*reader)->directory().digest != file.digest ||
        header.checkpoint != file.checkpoint || header.table != found->spec.name) {
      return saved.Explain((*reader)->Damaged("it is not the file its checkpoint names"));
    }
    if (header.value_bytes != sizes.value_bytes || header.state_bytes != sizes.state_bytes) {
      return saved.Explain((*reader)->Damaged("its rows do not have the size its table says"));
    }
    saved.readers_.push_back(*std::move(reader));
  }
  return saved;
}

uint64_t SavedTable::rows_max() const {
  uint64_t rows = 0;
  for (const auto& reader : readers_) rows += reader->directory().row_count;
  return rows;
}

RowMerge SavedTable::Rows(HashRanges ranges, RowMerge::Columns columns) const {
  std::vector<const RowFileReader*> files;
  for (const auto& reader : readers_) files.push_back(reader.get());
  return RowMerge(files, std::move(ranges), columns);
}

Status SavedTable::Explain(const Status& status) const {
  if (status.code() != StatusCode::kDataLoss && status.code() != StatusCode::kNotFound) return status;
  const CheckpointDirectory directory(*files_, directory_);
  std::string advice = "; no other checkpoint there is whole, restore one from a copy";
  if (const auto others = directory.Alternatives(checkpoint_, Message(status)); !others.empty()) {
    advice = "; checkpoint " + std::to_string(others.front()) + " does not use this file and seems whole: choose it " +
             "by its number";
  }
  return Error(StatusCode::kDataLoss,
               "checkpoint " + std::to_string(checkpoint_) + ": " + std::string(Message(status)) + advice);
}

StatusOr<uint64_t> SavedTable::Load(const HashRanges& ranges, TableStore& store) const {
  if (const std::string difference = Difference(spec_, store.spec()); !difference.empty()) {
    return Error(StatusCode::kFailedPrecondition, "table '" + spec_.name + "' of checkpoint " +
                                                      std::to_string(checkpoint_) + " in '" + directory_.string() +
                                                      "' has " + difference);
  }
  RowMerge rows = Rows(ranges);
  StoreInserter inserter(store);
  StoredRow row;
  for (;;) {
    const StatusOr<bool> more = rows.Next(row);
    if (!more.ok()) return Explain(more.status());
    if (!*more) break;
    RETURN_IF_ERROR(inserter.Add(row));
  }
  RETURN_IF_ERROR(inserter.Finish());
  return inserter.rows();
}

StatusOr<FilterRecords> ReadFilterRecords(FileSystem& files, const OpenedCheckpoint& checkpoint) {
  FilterRecords all;
  for (const CheckpointFile& file : checkpoint.manifest.filters) {
    const std::filesystem::path path = checkpoint.directory / file.name;
    ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(files, path, kFilterFileBytesMax));
    auto records = DecodeFilterRecords(file.checkpoint, bytes);
    if (!records.ok()) {
      return Error(StatusCode::kDataLoss,
                   "'" + path.string() + "' is damaged: " + std::string(Message(records.status())));
    }
    all.origins.insert(all.origins.end(), records->origins.begin(), records->origins.end());
    all.pushes.insert(all.pushes.end(), records->pushes.begin(), records->pushes.end());
  }
  return all;
}

}  // namespace attune::ps
