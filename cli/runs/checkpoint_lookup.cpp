#include "cli/runs/checkpoint_lookup.h"

#include <algorithm>
#include <optional>

#include "base/os/file.h"
#include "cli/runs/run_state.h"
#include "cli/runs/run_store.h"
#include "operator/api/training_job.h"
#include "proto/contract.h"
#include "ps/checkpoint/checkpoint_directory.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kEntriesShown = 4;

bool HoldsCheckpoints(const fs::path& directory) {
  const auto listing = ps::CheckpointDirectory(ps::RealFileSystem(), directory).List();
  return listing.ok() && !listing->manifests.empty();
}

std::vector<fs::path> DirectoriesIn(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (std::error_code unreadable; entry->is_directory(unreadable)) found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// " (it holds claims, pods, run.json and 2 more)".
std::string Contents(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) return " (it cannot be read: " + error.message() + ")";
  if (names.empty()) return " (it is empty)";
  std::sort(names.begin(), names.end());
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kEntriesShown); ++i) text += (text.empty() ? "" : ", ") + names[i];
  if (names.size() > kEntriesShown) text += " and " + std::to_string(names.size() - kEntriesShown) + " more";
  return " (it holds " + text + ")";
}

// What stands where a checkpoint was looked for and none was found.
std::string Found(const fs::path& place) {
  std::error_code error;
  if (fs::is_directory(place, error)) {
    return " holds no checkpoint, neither itself nor in checkpoints or claims/*/checkpoints" + Contents(place) +
           "; a job writes them when spec.checkpoint.intervalSeconds or `attune checkpoint JOB` asks for them";
  }
  return fs::exists(place, error) ? " is no directory" : ": there is no such directory";
}

// Where the record of a run, or its job's spec, says that its checkpoints lie. A run that was killed may have had no
// time to record the newest.
std::vector<fs::path> RecordedPlaces(const RunRecord& run, const std::string& job) {
  std::vector<fs::path> places;
  for (const RunJob& each : run.jobs) {
    if (each.name != job && run.jobs.size() > 1) continue;
    if (!each.checkpoint.empty()) places.emplace_back(each.checkpoint);
    const auto text = ReadFile(fs::path(run.directory) / StateFile(each.name));
    const auto state = text.ok() ? LoadState(*text) : StatusOr<RunState>(text.status());
    const std::string stated(state.ok() ? kube::StringAt(state->job, {"spec", "checkpoint", "directory"})
                                        : std::string_view());
    if (!stated.empty()) places.emplace_back(stated);
  }
  return places;
}

std::vector<fs::path> PlacesOf(const RunRecord& run, const std::string& job) {
  // The directory itself comes first in the words of an error, and holds no checkpoints of its own.
  std::vector<fs::path> places{run.directory};
  for (fs::path& place : RecordedPlaces(run, job)) places.push_back(std::move(place));
  for (fs::path& place : CheckpointPlaces(run.directory, job)) places.push_back(std::move(place));
  return places;
}

bool LiesIn(const fs::path& path, const fs::path& directory) {
  const fs::path relative = path.lexically_normal().lexically_relative(directory.lexically_normal());
  return !relative.empty() && *relative.begin() != "..";
}

// A volume of the servers that a path lies in.
struct Mount {
  std::string path;    // of the mount
  std::string host;    // of a hostPath
  std::string volume;  // what else it is: "claim model"
};

std::optional<Mount> MountOf(const kube::Json& job, const fs::path& path) {
  std::optional<Mount> best;
  const auto consider = [&](Mount mount) {
    if (LiesIn(path, mount.path) && (!best || mount.path.size() > best->path.size())) best = std::move(mount);
  };
  consider({contract::kModelDirectoryPath, "", "the model's volume"});
  const kube::Json& pod = kube::At(job, {"spec", "servers", "template", "spec"});
  const auto list = [](const kube::Json& object, const char* field) {
    const kube::Json& found = kube::At(object, {field});
    return found.is_array() ? found : kube::Json::array();
  };
  for (const kube::Json& container : list(pod, "containers")) {
    for (const kube::Json& mount : list(container, "volumeMounts")) {
      const std::string name(kube::StringAt(mount, {"name"}));
      std::string host;
      for (const kube::Json& volume : list(pod, "volumes")) {
        if (kube::StringAt(volume, {"name"}) == name) host = kube::StringAt(volume, {"hostPath", "path"});
      }
      consider({std::string(kube::StringAt(mount, {"mountPath"})), host, "volume " + name});
    }
  }
  return best;
}

}  // namespace

StatusOr<fs::path> FindCheckpoint(const CheckpointRequest& request) {
  Status damaged, none_is_best;
  for (const fs::path& place : request.places) {
    const fs::path found = ps::FindCheckpoints(ps::RealFileSystem(), place);
    if (!HoldsCheckpoints(found)) continue;
    const auto opened = request.best ? ps::OpenBestCheckpoint(ps::RealFileSystem(), found)
                                     : ps::OpenCheckpoint(ps::RealFileSystem(), found);
    if (opened.ok()) return found;
    if (opened.status().code() == StatusCode::kNotFound) {
      none_is_best = opened.status();
      continue;
    }
    if (damaged.ok()) damaged = opened.status();
  }
  if (!damaged.ok())
    return Error(StatusCode::kDataLoss, request.what + ": " + std::string(Message(damaged)) + "; " + request.otherwise);
  if (!none_is_best.ok())
    return Error(StatusCode::kNotFound,
                 request.what + ": " + std::string(Message(none_is_best)) + "; " + request.otherwise);
  return Error(StatusCode::kNotFound, request.what + Found(request.places.front()) + "; " + request.otherwise);
}

std::vector<fs::path> CheckpointPlaces(const fs::path& directory, const std::string& job) {
  std::vector<fs::path> places{directory, directory / "checkpoints"};
  for (const fs::path& claim : DirectoriesIn(directory / "claims")) {
    // Beside the model, which lies in claims/<claim>/<job>.
    places.push_back(claim / job / "checkpoints");
    places.push_back(claim / "checkpoints");
    places.push_back(claim);
    for (const fs::path& of_job : DirectoriesIn(claim)) places.push_back(of_job / "checkpoints");
  }
  return places;
}

StatusOr<fs::path> FindModelDirectory(const std::string& wanted) {
  ps::FileSystem& files = ps::RealFileSystem();
  fs::path directory = wanted;
  std::error_code error;
  if (!fs::exists(directory, error)) {
    const auto run = FindRun(wanted);
    if (run.status().code() == StatusCode::kInvalidArgument) return run.status();
    if (!run.ok()) return fs::path(wanted);
    directory = run->directory;
  }
  std::vector<fs::path> places{directory};
  for (const fs::path& claim : DirectoriesIn(directory / "claims")) {
    places.push_back(claim);
    for (const fs::path& of_job : DirectoriesIn(claim)) places.insert(places.end(), {of_job, of_job / "checkpoints"});
    places.push_back(claim / "checkpoints");
  }
  places.push_back(directory / "checkpoints");
  for (const fs::path& of_job : DirectoriesIn(directory)) places.push_back(of_job / "checkpoints");  // of a claim
  for (const fs::path& place : places) {
    const fs::path found = ps::FindCheckpoints(files, place);
    if (HoldsCheckpoints(found)) return found;
  }
  return directory;
}

StatusOr<fs::path> FindResumeDirectory(const std::string& wanted, const std::string& job, bool best) {
  std::error_code error;
  const fs::path directory = fs::absolute(wanted, error).lexically_normal();
  const std::string shown = wanted == directory ? wanted : wanted + " (" + directory.string() + ")";
  const auto run = LoadRun(directory);
  return FindCheckpoint({"--resume " + shown, run.ok() ? PlacesOf(*run, job) : CheckpointPlaces(directory, job),
                         best ? "leave --best out to begin with the newest one"
                              : "name another directory, or leave --resume out to begin from nothing",
                         best});
}

StatusOr<fs::path> FindCheckpointOf(const RunRecord& run, bool best) {
  return FindCheckpoint(
      {"run " + run.name + " (" + run.directory + ")", PlacesOf(run, run.jobs.front().name),
       best ? std::string("leave --best out to continue from the newest one")
            : "begin from nothing with `attune run " + (fs::path(run.directory) / kRunManifest).string() + "`",
       best});
}

Status ResolveResumeFrom(kube::Json& job) {
  const fs::path asked(kube::StringAt(job, {"spec", "checkpoint", "resumeFrom"}));
  if (asked.empty()) return OkStatus();
  const std::string name(kube::Name(job));
  const std::string what = "job " + name + ": spec.checkpoint.resumeFrom " + asked.string();
  const std::string otherwise = "name another directory, or remove the field to begin from nothing";
  const bool best = kube::StringAt(job, {"spec", "checkpoint", "resumeAt"}) == "Best";
  const std::optional<Mount> mount = MountOf(job, asked);
  if (mount && mount->host.empty()) {
    return Error(StatusCode::kNotFound, what + " lies in " + mount->volume + " (" + mount->path +
                                            "), which is empty when a run on this machine begins; name the directory "
                                            "by its path on this machine, or remove the field to begin from nothing");
  }
  const fs::path here =
      mount ? (fs::path(mount->host) / asked.lexically_relative(mount->path)).lexically_normal() : asked;
  ASSIGN_OR_RETURN(
      const fs::path found,
      FindCheckpoint({what + (here == asked ? "" : " (" + here.string() + ")"), CheckpointPlaces(here, name),
                      best ? "set resumeAt: Newest to begin with the newest one" : otherwise, best}));
  // Seen from the pods, what lies in a volume has the path of its mount.
  if (found != here) job["spec"]["checkpoint"]["resumeFrom"] = (asked / found.lexically_relative(here)).string();
  return OkStatus();
}

}  // namespace attune::cli
