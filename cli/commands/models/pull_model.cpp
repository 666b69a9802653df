#include <cstdio>
#include <filesystem>
#include <string>

#include "base/files/file_pages.h"
#include "base/sha256.h"
#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/commands/models/progress_line.h"
#include "cli/connection.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/pull/copy_target.h"
#include "cli/pull/file_copy.h"
#include "cli/pull/model_place.h"
#include "cli/pull/pod_reader.h"
#include "cli/pull/pull_text.h"
#include "cli/pull/reader_manifest.h"
#include "cli/runs/jobs.h"
#include "cli/runs/run_directory.h"
#include "operator/local/api/rules/identity.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTokenBytes = 24;

// One call: the job, where its model is, and where it goes.
struct Pull {
  const PullModelArguments& arguments;
  api::TrainingJob job;
  ModelPlace place;
  PulledModel model;
  ProgressLine line{};

  StatusOr<CopyResult> Copy(const ShownFiles::Ask& ask) {
    // Only now, so that a call that fails before leaves no directory.
    ASSIGN_OR_RETURN(const std::unique_ptr<CopyTarget> target, OpenDirectoryTarget(model.directory));
    ShownFiles shown(ask);
    CopyOptions options;
    options.force = arguments.force;
    options.wanted = [this](const std::string& path) { return arguments.checkpoints || !IsOfCheckpoints(place, path); };
    options.progress = [this](const CopyProgress& progress) {
      line.Update(progress.copying ? "copying" : "comparing", progress.done, progress.total);
      return !Interrupts::requested();
    };
    options.copied = [this](const CopiedFile& file) {
      if (!line.is_terminal()) std::fprintf(stderr, "copied %s\n", file.path.c_str());
    };
    auto result = CopyFiles(shown, *target, options);
    line.Clear();
    return result;
  }

  // The files are on this machine: what answers in a reader's pod answers here.
  StatusOr<CopyResult> CopyFromRun(const std::string& run_directory) {
    const std::string& stated = arguments.claim.empty() ? job.spec.model.claim : arguments.claim;
    const fs::path directory =
        fs::path(run_directory) / "claims" / (stated.empty() ? kRunModelClaim : stated) / job.name;
    model.source = directory.string();
    const SystemTime time;
    FilePages pages(directory, time);
    return Copy([&](const std::string& request) { return pages.Answer(request); });
  }

  StatusOr<CopyResult> CopyFromCluster(kube::Api& api, const kube::ObjectKey& key) {
    ASSIGN_OR_RETURN(const std::vector<kube::Json> pods, GetPods(api, key));
    ASSIGN_OR_RETURN(const std::string claim, ModelClaim(job, pods, arguments.claim));
    model.source = "claim " + claim + ", " + place.directory;
    const std::string token = local::RandomHex(kTokenBytes);
    ASSIGN_OR_RETURN(const kube::Json pod, BuildReader(job, pods,
                                                       {.claim = claim,
                                                        .directory = place.directory,
                                                        .token_sha256 = Sha256Hex(token),
                                                        .image = arguments.image}));
    const SystemTime time;
    const ReaderSurroundings surroundings{.time = time,
                                          .wait = [](Duration wait) { return Interrupts::Wait(wait); },
                                          .say =
                                              [this](const std::string& text) {
                                                line.Clear();
                                                std::fprintf(stderr, "attune: %s\n", text.c_str());
                                              }};
    ASSIGN_OR_RETURN(const std::unique_ptr<PodReader> reader,
                     PodReader::Start(api, pod, token, std::chrono::seconds(arguments.timeout_seconds), surroundings));
    return Copy([&](const std::string& request) { return reader->Ask(request); });
  }
};

}  // namespace

int PullModel(const PullModelArguments& arguments, const Target& target) {
  const auto connection = ConnectToJob(target, arguments.job, Purpose::kLook);
  if (!connection.ok()) return Fail(connection.status());
  const auto object = GetJob(*connection->api, connection->key);
  if (!object.ok()) return Fail(object.status());
  Interrupts::Install();
  Pull pull{.arguments = arguments, .job = api::ParseTrainingJob(*object).job, .place = {}, .model = {}};
  pull.place = PlaceOfModel(pull.job);
  pull.model = {.job = pull.job.name,
                .source = "",
                .directory = arguments.directory.empty() ? pull.job.name : arguments.directory,
                .checkpoints = arguments.checkpoints};
  if (arguments.checkpoints && !pull.place.elsewhere.empty()) {
    std::fprintf(
        stderr,
        "attune: checkpoints of %s are not copied: they are in %s (spec.checkpoint.directory), not beside its model\n",
        pull.job.name.c_str(), pull.place.elsewhere.c_str());
  }
  const auto result = connection->run_directory.empty() ? pull.CopyFromCluster(*connection->api, connection->key)
                                                        : pull.CopyFromRun(connection->run_directory);
  if (result.status().code() == StatusCode::kCancelled) {
    std::fputs("attune: interrupted; what was copied stays, and the same command continues\n", stderr);
    return kExitInterrupted;
  }
  if (!result.ok()) return Fail(result.status());
  if (const Status status = CheckPulled(pull.model, *result); !status.ok()) return Fail(status);
  if (arguments.json) {
    std::puts(PulledJson(pull.model, *result).dump(-1, ' ', false, kube::Json::error_handler_t::replace).c_str());
  } else {
    std::puts(PulledText(pull.model, *result).c_str());
  }
  return kExitOk;
}

}  // namespace attune::cli
