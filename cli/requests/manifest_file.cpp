#include "cli/requests/manifest_file.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/os/file.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kManifestBytesMax = 16 << 20;
constexpr size_t kNamed = 6;

// "job.yaml, tuned.yaml", as they would be typed; "" for none.
std::string ManifestsIn(const fs::path& directory) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string ending = entry.path().extension().string();
    if (ending == ".yaml" || ending == ".yml") found.push_back(entry.path().lexically_normal().string());
  }
  std::sort(found.begin(), found.end());
  std::string names;
  for (size_t i = 0; i < std::min(found.size(), kNamed); ++i) names += (names.empty() ? "" : ", ") + found[i];
  return names + (found.size() > kNamed ? " ..." : "");
}

}  // namespace

StatusOr<std::string> ReadManifestText(const std::string& file) {
  if (std::error_code error; file != "-" && fs::is_directory(file, error)) {
    const std::string there = ManifestsIn(file);
    return Error(StatusCode::kInvalidArgument, "cannot read '" + file + "': Is a directory; name a manifest" +
                                                   (there.empty() ? "; none lies there" : ": " + there));
  }
  return ReadFile(file == "-" ? "/dev/stdin" : file, kManifestBytesMax);
}

}  // namespace attune::cli
