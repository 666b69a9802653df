#include <cstdio>
#include <memory>
#include <string>

#include "base/os/output.h"
#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/commands/models/progress_line.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/runs/checkpoint_lookup.h"
#include "operator/api/format.h"
#include "operator/kube/object.h"
#include "ps/checkpoint/export/export.h"

namespace attune::cli {
namespace {

// Beside the reader: the table's name, or "model" for several, with the format's ending.
std::filesystem::path DefaultOutput(const ExportArguments& arguments, const ps::Manifest& manifest,
                                    ps::ExportFormat format) {
  std::string name = "model";
  if (arguments.tables.size() == 1) name = arguments.tables.front();
  if (arguments.tables.empty() && manifest.tables.size() == 1) name = manifest.tables.front().spec.name;
  return ps::EscapeForFileName(name) + std::string(ps::FileEnding(format));
}

// What the writers of formats write into when the place is no file that could be renamed.
class StreamFile final : public ps::WritableFile {
 public:
  explicit StreamFile(OutputStream& stream) : stream_(stream) {}
  Status Append(std::string_view bytes) override { return stream_.Write(bytes); }
  Status Sync() override { return OkStatus(); }
  Status Close() override { return OkStatus(); }

 private:
  OutputStream& stream_;
};

StatusOr<ps::ExportResult> ExportTo(const OutputPlace& place, const ps::OpenedCheckpoint& checkpoint,
                                    ps::ExportOptions options) {
  ps::FileSystem& files = ps::RealFileSystem();
  options.output = place.path;
  if (place.kind == OutputPlace::Kind::kFile) return ps::Export(files, checkpoint, options);
  ASSIGN_OR_RETURN(const std::unique_ptr<OutputStream> stream, OutputStream::Open(place));
  StreamFile file(*stream);
  options.stream = &file;
  ASSIGN_OR_RETURN(ps::ExportResult result, ps::Export(files, checkpoint, options));
  RETURN_IF_ERROR(stream->Close());
  return result;
}

// `to`: standard output, or standard error where the other has the model.
void Print(const ps::ExportResult& result, const ps::OpenedCheckpoint& checkpoint, const std::string& file, bool json,
           std::FILE* to) {
  if (!json) {
    std::fprintf(to, "%s: checkpoint %llu, %s\n", file.c_str(),
                 static_cast<unsigned long long>(checkpoint.manifest.number), api::FormatBytes(result.bytes).c_str());
    for (const auto& table : result.tables) {
      std::fprintf(to, "  %s: %llu rows of %u values\n", table.name.c_str(),
                   static_cast<unsigned long long>(table.rows), table.dim);
    }
    return;
  }
  kube::Json tables = kube::Json::array();
  for (const auto& table : result.tables) {
    tables.push_back({{"name", table.name}, {"rows", table.rows}, {"dim", table.dim}});
  }
  const kube::Json line = {{"file", file},
                           {"checkpoint", checkpoint.manifest.number},
                           {"bytes", result.bytes},
                           {"tables", std::move(tables)}};
  std::fprintf(to, "%s\n", line.dump(-1, ' ', false, kube::Json::error_handler_t::replace).c_str());
}

}  // namespace

int Export(const ExportArguments& arguments) {
  const auto format = ps::ParseExportFormat(arguments.format);
  if (!format.ok()) return Fail(format.status());
  ps::FileSystem& files = ps::RealFileSystem();
  const auto directory = FindModelDirectory(arguments.directory);
  if (!directory.ok()) return Fail(directory.status());
  const auto checkpoint = arguments.best ? ps::OpenBestCheckpoint(files, *directory)
                                         : ps::OpenCheckpoint(files, *directory, arguments.checkpoint);
  if (!checkpoint.ok()) return Fail(checkpoint.status());
  for (const std::string& skipped : checkpoint->skipped) {
    std::fprintf(stderr, "attune: passing over a newer checkpoint: %s\n", skipped.c_str());
  }
  const std::string name =
      arguments.to.empty() ? DefaultOutput(arguments, checkpoint->manifest, *format).string() : arguments.to;
  const auto place = FindOutputPlace(name);
  if (!place.ok()) return Fail(place.status());
  ps::ExportOptions options{
      .format = *format, .tables = arguments.tables, .output = {}, .vocabulary = arguments.vocabulary, .progress = {}};
  Interrupts::Install();
  ps::ExportResult result;
  {
    ProgressLine line;
    options.progress = [&line](uint64_t done, uint64_t total) {
      line.Update("exporting", done, total);
      return !Interrupts::requested();
    };
    auto exported = ExportTo(*place, *checkpoint, options);
    if (exported.status().code() == StatusCode::kCancelled) return kExitInterrupted;
    if (!exported.ok()) return Fail(exported.status());
    result = *std::move(exported);
  }
  const bool taken = place->kind == OutputPlace::Kind::kStandardOutput;
  Print(result, *checkpoint, taken ? "standard output" : name, arguments.json, taken ? stderr : stdout);
  return kExitOk;
}

}  // namespace attune::cli
