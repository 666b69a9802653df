#include "ps/checkpoint/export/export.h"

#include "ps/checkpoint/export/export_output.h"
#include "ps/checkpoint/store_rows.h"

namespace attune::ps {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = 1 << 20;

struct FormatWord {
  ExportFormat format;
  std::string_view word, ending;
};
constexpr FormatWord kFormatWords[] = {{ExportFormat::kSafetensors, "safetensors", ".safetensors"},
                                       {ExportFormat::kNpz, "npz", ".npz"},
                                       {ExportFormat::kWord2vecText, "word2vec-text", ".txt"}};

std::string NamesOf(const Manifest& manifest) {
  std::string names;
  for (const CheckpointTable& table : manifest.tables) names += (names.empty() ? "" : ", ") + table.spec.name;
  return names;
}

}  // namespace

StatusOr<ExportFormat> ParseExportFormat(std::string_view word) {
  for (const FormatWord& known : kFormatWords) {
    if (known.word == word) return known.format;
  }
  return Error(StatusCode::kInvalidArgument,
               "there is no format '" + std::string(word) + "'; there are safetensors, npz, word2vec-text");
}

std::string_view FileEnding(ExportFormat format) { return kFormatWords[static_cast<size_t>(format)].ending; }

// --- output

StatusOr<std::unique_ptr<ExportOutput>> ExportOutput::Create(FileSystem& files, const fs::path& path,
                                                             WritableFile* stream) {
  std::unique_ptr<ExportOutput> output(new ExportOutput(files, path));
  output->buffer_.reserve(kBufferBytes);
  output->stream_ = stream;
  if (stream != nullptr) return output;
  const fs::path temporary = path.string() + ".part";
  StatusOr<std::unique_ptr<WritableFile>> file = files.Create(temporary);
  if (file.status().code() == StatusCode::kAlreadyExists) {
    return Error(StatusCode::kAlreadyExists, "'" + temporary.string() +
                                                 "' is there: another export writes it, or one was interrupted; remove "
                                                 "it in that case");
  }
  if (!file.ok()) return file.status();
  output->file_ = *std::move(file);
  output->temporary_ = temporary;
  return output;
}

ExportOutput::~ExportOutput() {
  if (file_ != nullptr) (void)files_.Remove(temporary_);
}

Status ExportOutput::Flush() {
  const Status status = (stream_ != nullptr ? stream_ : file_.get())->Append(buffer_);
  buffer_.clear();
  return status;
}

Status ExportOutput::Write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) RETURN_IF_ERROR(Flush());
  buffer_.append(bytes);
  bytes_ += bytes.size();
  return OkStatus();
}

Status ExportOutput::Finish() {
  RETURN_IF_ERROR(Flush());
  if (stream_ != nullptr) return OkStatus();
  RETURN_IF_ERROR(file_->Sync());
  RETURN_IF_ERROR(file_->Close());
  RETURN_IF_ERROR(files_.Rename(temporary_, path_));
  file_.reset();
  const fs::path directory = path_.parent_path();
  return files_.SyncDirectory(directory.empty() ? fs::path(".") : directory);
}

// --- rows

Status ExportTable::ForEach(RowMerge::Columns columns, const std::function<Status(const StoredRow&)>& visit) {
  RowMerge merge = table_.Rows(HashRanges::All(), columns);
  const RowCodec codec(spec());
  std::vector<float> values(spec().options.dim);
  StoredRow row;
  uint64_t reported = 0;
  for (;;) {
    const StatusOr<bool> more = merge.Next(row);
    if (!more.ok()) return table_.Explain(more.status());
    if (merge.bytes_read() > reported)
      RETURN_IF_ERROR(progress_(merge.bytes_read() - std::exchange(reported, merge.bytes_read())));
    if (!*more) return OkStatus();
    if (columns == RowMerge::Columns::kRows) {
      codec.Read(row.values, values.data());
      row.values = {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
    }
    RETURN_IF_ERROR(visit(row));
  }
}

Status ExportTable::Count() {
  rows_ = 0;
  return ForEach(RowMerge::Columns::kKeys, [this](const StoredRow&) {
    ++rows_;
    return OkStatus();
  });
}

StatusOr<ExportResult> Export(FileSystem& files, const OpenedCheckpoint& checkpoint, const ExportOptions& options) {
  std::vector<std::string> names = options.tables;
  if (names.empty()) {
    for (const CheckpointTable& table : checkpoint.manifest.tables) names.push_back(table.spec.name);
  }
  if (names.empty()) return Error(StatusCode::kNotFound, "the checkpoint has no tables");
  const bool is_text = options.format == ExportFormat::kWord2vecText;
  if (is_text && names.size() != 1) {
    return Error(StatusCode::kInvalidArgument,
                 "word2vec-text holds one table; choose one with --table: " + NamesOf(checkpoint.manifest));
  }
  if (!is_text && !options.vocabulary.empty()) {
    return Error(StatusCode::kInvalidArgument, "a vocabulary is used by word2vec-text only");
  }

  uint64_t done = 0, total = 0;
  const auto progress = [&](uint64_t bytes) {
    done += bytes;
    if (!options.progress || options.progress(done, total)) return OkStatus();
    return Error(StatusCode::kCancelled, "the export was interrupted; nothing is left of it");
  };
  std::vector<ExportTable> tables;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(SavedTable table, SavedTable::Open(files, checkpoint, name));
    tables.emplace_back(std::move(table), progress);
    const uint64_t keys = tables.back().bytes_of_pass(RowMerge::Columns::kKeys);
    total += keys + tables.back().bytes_of_pass(RowMerge::Columns::kRows) + (is_text ? 0 : keys);
  }
  for (ExportTable& table : tables) RETURN_IF_ERROR(table.Count());
  ASSIGN_OR_RETURN(const std::unique_ptr<ExportOutput> output,
                   ExportOutput::Create(files, options.output, options.stream));
  switch (options.format) {
    case ExportFormat::kSafetensors:
      RETURN_IF_ERROR(WriteSafetensors(tables, *output));
      break;
    case ExportFormat::kNpz:
      RETURN_IF_ERROR(WriteNpz(tables, *output));
      break;
    case ExportFormat::kWord2vecText:
      RETURN_IF_ERROR(WriteWord2vecText(files, tables.front(), options.vocabulary, *output));
      break;
  }
  RETURN_IF_ERROR(output->Finish());
  ExportResult result{.tables = {}, .bytes = output->bytes()};
  for (const ExportTable& table : tables) {
    result.tables.push_back({.name = table.spec().name, .rows = table.rows(), .dim = table.spec().options.dim});
  }
  return result;
}

}  // namespace attune::ps
