#include "operator/local/instance.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "operator/kube/object.h"

namespace attune::local {
namespace {

using kube::Json;

constexpr uint64_t kFileBytesMax = 64 << 10;

std::filesystem::path Directory() {
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/')
    return std::filesystem::path(runtime) / "attune";
  return "/tmp/attune-" + std::to_string(getuid());
}

// The files hold tokens: no other user may have made the directory or look into it.
Status CheckDirectory(const std::filesystem::path& directory) {
  struct stat info {};
  if (lstat(directory.c_str(), &info) != 0)
    return Error(StatusCode::kNotFound, directory.string() + ": " + ErrnoText(errno));
  if (S_ISDIR(info.st_mode) && info.st_uid == getuid() && (info.st_mode & 077) == 0) return OkStatus();
  return Error(StatusCode::kPermissionDenied,
               directory.string() + " must be a directory of yours with mode 0700; remove it and try again");
}

bool IsAlive(const Json& file) {
  return IsProcess(static_cast<int>(kube::IntegerAt(file, {"processId"})),
                   std::string(kube::StringAt(file, {"processStart"})));
}

Json ToJson(const Instance& instance) {
  return {{"processId", instance.process_id},
          {"processStart", ProcessStart(instance.process_id)},
          {"url", instance.url},
          {"token", instance.token},
          {"job", instance.job},
          {"run", instance.run},
          {"runDirectory", instance.run_directory},
          {"started", instance.started},
          {"dashboard", instance.dashboard}};
}

Instance FromJson(const Json& json) {
  const auto text = [&](const char* field) { return std::string(kube::StringAt(json, {field})); };
  return {static_cast<int>(kube::IntegerAt(json, {"processId"})),
          text("url"),
          text("token"),
          text("job"),
          text("run"),
          text("runDirectory"),
          text("started"),
          text("dashboard")};
}

class Registration final : public InstanceRegistration {
 public:
  explicit Registration(std::filesystem::path file) : file_(std::move(file)) {}
  ~Registration() override { unlink(file_.c_str()); }

 private:
  const std::filesystem::path file_;
};

}  // namespace

// Start time in clock ticks since boot.
std::string ProcessStart(int process_id) {
  std::ifstream file("/proc/" + std::to_string(process_id) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return "";
  size_t at = text.rfind(')');
  // One that has ended and was not waited for is none.
  if (at == std::string::npos || at + 2 >= text.size() || text[at + 2] == 'Z' || text[at + 2] == 'X') return "";
  for (int field = 2; at != std::string::npos && field < 22; ++field) at = text.find(' ', at + 1);
  return at == std::string::npos ? "" : text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

bool IsProcess(int process_id, const std::string& start) {
  if (process_id <= 0 || start.empty() || (kill(process_id, 0) != 0 && errno == ESRCH)) return false;
  return ProcessStart(process_id) == start;
}

StatusOr<std::unique_ptr<InstanceRegistration>> InstanceRegistration::Register(const Instance& instance) {
  const std::filesystem::path directory = Directory();
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error(StatusCode::kUnavailable, "cannot make " + directory.string() +
                                               ", where local instances are found: " + ErrnoText(errno) +
                                               "; set XDG_RUNTIME_DIR to a directory of yours that can be written");
  }
  RETURN_IF_ERROR(CheckDirectory(directory));
  const std::filesystem::path file = directory / (std::to_string(instance.process_id) + ".json");
  RETURN_IF_ERROR(WriteFileAtomically(file, ToJson(instance).dump(2) + "\n", 0600));
  return std::make_unique<Registration>(file);
}

StatusOr<std::vector<Instance>> FindInstances() {
  const std::filesystem::path directory = Directory();
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) return std::vector<Instance>();
  RETURN_IF_ERROR(CheckDirectory(directory));
  std::vector<Instance> instances;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".json") continue;
    const StatusOr<std::string> text = ReadFile(entry.path(), kFileBytesMax);
    if (!text.ok()) continue;
    const Json json = Json::parse(*text, nullptr, false);
    if (json.is_object() && IsAlive(json)) {
      instances.push_back(FromJson(json));
    } else {
      unlink(entry.path().c_str());
    }
  }
  std::sort(instances.begin(), instances.end(), [](const Instance& a, const Instance& b) {
    return std::tie(b.started, b.process_id) < std::tie(a.started, a.process_id);
  });
  return instances;
}

}  // namespace attune::local
