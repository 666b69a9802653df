#include "ps/checkpoint/part_writer.h"

#include <optional>

#include "ps/checkpoint/checkpoint_directory.h"
#include "ps/checkpoint/format/row_file_writer.h"

namespace attune::ps {
namespace {

// Nothing when the table has no rows here.
StatusOr<std::optional<CheckpointFile>> WriteTable(FileSystem& files, const PartOrder& order, RowSource& source,
                                                   Throttle& throttle, std::vector<std::string>& begun) {
  const TableSpec& spec = source.spec();
  const RowSizes sizes = RowSizesOf(spec);
  const std::string name = RowFileName(order.checkpoint, spec.name, order.part);
  std::unique_ptr<RowFileWriter> writer;
  const auto create = [&]() -> Status {
    begun.push_back(name);
    ASSIGN_OR_RETURN(
        writer, RowFileWriter::Create(files, order.directory / name,
                                      {.checkpoint = order.checkpoint,
                                       .job_uid = order.job_uid,
                                       .table = spec.name,
                                       .value_bytes = sizes.value_bytes,
                                       .state_bytes = sizes.state_bytes},
                                      {.before_write = [&throttle](uint64_t bytes) { return throttle.Take(bytes); }}));
    return OkStatus();
  };
  RETURN_IF_ERROR(source.ForEach([&](const StoredRow& row) -> Status {
    if (writer == nullptr) RETURN_IF_ERROR(create());
    return writer->Add(row);
  }));
  if (writer == nullptr && source.row_count() == 0) return std::optional<CheckpointFile>();
  if (writer == nullptr) RETURN_IF_ERROR(create());  // it says that none has changed
  ASSIGN_OR_RETURN(const RowFileSummary summary, writer->Finish());
  return std::optional(CheckpointFile{.name = name,
                                      .checkpoint = order.checkpoint,
                                      .rows = summary.rows,
                                      .erased = summary.erased,
                                      .bytes = summary.bytes,
                                      .digest = summary.digest});
}

StatusOr<CheckpointFile> WriteFilter(FileSystem& files, const PartOrder& order, const FilterRecords& filter) {
  const std::string name = FilterFileName(order.checkpoint, order.part);
  const std::string bytes = EncodeFilterRecords(order.checkpoint, filter);
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files.Create(order.directory / name));
  RETURN_IF_ERROR(file->Append(bytes));
  RETURN_IF_ERROR(file->Sync());
  RETURN_IF_ERROR(file->Close());
  return CheckpointFile{
      .name = name, .checkpoint = order.checkpoint, .bytes = bytes.size(), .digest = DigestOfFilterFile(bytes)};
}

Status WriteAll(FileSystem& files, const PartOrder& order, const std::vector<RowSource*>& sources,
                const FilterRecords& filter, Throttle& throttle, std::vector<std::string>& begun, WrittenPart& part) {
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] == nullptr) continue;
    StatusOr<std::optional<CheckpointFile>> file = WriteTable(files, order, *sources[i], throttle, begun);
    if (!file.ok()) return Annotate(file.status(), "saving table '" + sources[i]->spec().name + "'");
    if (!*file) continue;
    part.tables.push_back(
        {.table = static_cast<uint32_t>(i), .rows = sources[i]->row_count(), .file = **std::move(file)});
  }
  if (!filter.empty()) {
    begun.push_back(FilterFileName(order.checkpoint, order.part));
    ASSIGN_OR_RETURN(CheckpointFile file, WriteFilter(files, order, filter));
    part.filters.push_back(std::move(file));
  }
  return files.SyncDirectory(order.directory);
}

}  // namespace

StatusOr<WrittenPart> WritePart(FileSystem& files, const PartOrder& order, const std::vector<RowSource*>& sources,
                                const FilterRecords& filter, Throttle& throttle) {
  if (const Status status = files.CreateDirectories(order.directory); !status.ok()) {
    return Annotate(status, "check the volume mounted there");
  }
  WrittenPart part;
  std::vector<std::string> begun;
  const Status status = WriteAll(files, order, sources, filter, throttle, begun, part);
  if (status.ok()) return part;
  // A file that was there already is another writer's and stays; the one begun last is then it.
  if (status.code() == StatusCode::kAlreadyExists) begun.pop_back();
  for (const std::string& name : begun) (void)files.Remove(order.directory / name);
  return status;
}

}  // namespace attune::ps
