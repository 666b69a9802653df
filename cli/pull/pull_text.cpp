#include "cli/pull/pull_text.h"

#include <algorithm>

#include "operator/api/format.h"

namespace attune::cli {
namespace {

std::string Count(size_t number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

size_t WereThere(const CopyResult& result) {
  return static_cast<size_t>(std::ranges::count_if(result.files, &CopiedFile::was_there));
}

}  // namespace

Status CheckPulled(const PulledModel& model, const CopyResult& result) {
  if (!result.files.empty()) return OkStatus();
  if (result.unwanted > 0 && !model.checkpoints) {
    return Error(StatusCode::kNotFound, "job " + model.job + " has saved no model yet: " + model.source +
                                            " holds checkpoints alone; copy those with --checkpoints");
  }
  return Error(StatusCode::kNotFound, "job " + model.job + " has saved no model yet: there are no files in " +
                                          model.source + "; its program writes them to $ATTUNE_MODEL_DIRECTORY");
}

std::string PulledText(const PulledModel& model, const CopyResult& result) {
  std::string text = model.job + ": " + Count(result.files.size(), "file", "files") + ", " +
                     api::FormatBytes(result.bytes) + ", from " + model.source + " to " + model.directory;
  if (const size_t there = WereThere(result); there > 0) {
    text += "; " + (there == result.files.size() ? std::string("all") : std::to_string(there)) + " of them " +
            (there == 1 && result.files.size() > 1 ? "was" : "were") + " there already";
  }
  if (result.unwanted > 0 && !model.checkpoints)
    text += "\nleft out: " + Count(result.unwanted, "file", "files") + " of checkpoints (--checkpoints)";
  if (result.left_out > 0)
    text += "\nleft out: " + Count(result.left_out, "entry", "entries") +
            " that no copy is made of: symbolic links, devices, names with control characters";
  return text;
}

kube::Json PulledJson(const PulledModel& model, const CopyResult& result) {
  kube::Json files = kube::Json::array();
  for (const CopiedFile& file : result.files)
    files.push_back({{"path", file.path}, {"bytes", file.size}, {"wasThere", file.was_there}});
  return {{"job", model.job},
          {"source", model.source},
          {"directory", model.directory},
          {"files", std::move(files)},
          {"bytes", result.bytes},
          {"received", result.received},
          {"leftOut", result.left_out + result.unwanted}};
}

}  // namespace attune::cli
