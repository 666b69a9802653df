#include "cli/launch/starter_manifest.h"

#include <sstream>
#include <utility>
#include <vector>

#include "operator/api/manifest/manifest.h"

namespace attune::cli {
namespace {

// JSON's strings are YAML's, whatever they hold.
std::string Quoted(const std::string& text) {
  return kube::Json(text).dump(-1, ' ', false, kube::Json::error_handler_t::replace);
}

// "[python, train.py]" as YAML. What only a shell understands is left to one.
std::string CommandList(const std::string& command) {
  const bool plain = command.find_first_of("\"'`$|&;<>(){}*?~\\\n") == std::string::npos;
  std::vector<std::string> words = {"/bin/sh", "-c", command};
  if (plain) {
    words.clear();
    std::istringstream text(command);
    for (std::string word; text >> word;) words.push_back(word);
  }
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + Quoted(word);
  return "[" + list + "]";
}

std::string GoalLines(const Starter& starter) {
  std::string text;
  const bool any = starter.epochs || starter.steps || starter.target_loss;
  if (starter.epochs || !any)
    text += "    epochs: " + std::to_string(starter.epochs.value_or(1)) + "  # passes over the data\n";
  if (starter.steps) text += "    steps: " + std::to_string(*starter.steps) + "  # of all workers together\n";
  if (starter.target_loss) text += "    targetLoss: " + kube::Json(*starter.target_loss).dump() + "  # of training\n";
  return text;
}

std::string TuningLines(const Starter& starter) {
  if (!starter.tuning || *starter.tuning == api::TuningMode::kOff) {
    return R"(    # Recommend only says what it would do, Auto does it. Off is the default.
    mode: "Off"
)";
  }
  return "    mode: " + std::string(ToString(*starter.tuning)) + R"(
    # What it may choose from; without bounds as much as the machines have.
    # workers: {min: 1, max: 8}
    # servers: {min: 1, max: 4}
)";
}

constexpr char kText[] = R"(# A training job for Attune.
#   attune validate FILE     names every mistake with its line
#   attune run FILE          trains on this machine; the image is not used
#   kubectl apply -f FILE    trains on a cluster; attune doctor --context NAME checks it before
#   attune top               shows how far it is
apiVersion: attune.dev/v1alpha1
kind: TrainingJob
metadata:
  name: @NAME@
spec:
  # Training is over when the first of these is reached (docs/metrics.md has more).
  goal:
@GOAL@    # maxDurationSeconds: 3600  # the job ends then, wherever it stands
  # Servers hold the parameters. More of them serve more workers and hold larger models. Their
  # number may change while the job trains: attune scale JOB servers=2 (docs/steering.md).
  servers:
    replicas: @SERVERS@
    # backups: 1  # with two servers: a copy of every row, so that the loss of one loses nothing
  # Workers run your program. Each trains on its own share of the data, however many there are:
  # attune scale JOB workers=4.
  workers:
    replicas: @WORKERS@
    template:
      spec:
        containers:
          - name: worker  # this name is required
            # For clusters: an image with your program, which links attune::ps (docs/worker.md).
            image: @IMAGE@
            # On this machine the program is looked up beside attune and on the PATH.
            command: @COMMAND@
            # What a machine must have free for each worker. Limits hold it to that.
            resources:
              requests: {cpu: 100m, memory: 256Mi}
  # How far a worker may be ahead of the slowest one: Async (no bound), SSP with staleness: 4 (so
  # many steps), BSP (none). attune sync JOB changes it.
  synchronization:
    mode: Async
  # The tuner looks for the setting that ends the job soonest while it trains. attune explain JOB
  # shows what was tried and why (docs/tuning.md).
  tuning:
@TUNING@  # Checkpoints are written by themselves once a job has run for ten minutes, and by attune
  # checkpoint JOB. On a cluster they need a directory that all servers share (docs/checkpoints.md).
  # checkpoint:
  #   directory: /models/checkpoints
  #   intervalSeconds: 600
)";

std::string Compose(const Starter& starter) {
  const std::pair<const char*, std::string> places[] = {{"@NAME@", Quoted(starter.name)},
                                                        {"@GOAL@", GoalLines(starter)},
                                                        {"@SERVERS@", std::to_string(starter.servers)},
                                                        {"@WORKERS@", std::to_string(starter.workers)},
                                                        {"@IMAGE@", Quoted(starter.image)},
                                                        {"@COMMAND@", CommandList(starter.command)},
                                                        {"@TUNING@", TuningLines(starter)}};
  // In their order in the text, each behind the one before: what was put in is not looked through.
  std::string text = kText;
  size_t from = 0;
  for (const auto& [place, value] : places) {
    from = text.find(place, from);
    text.replace(from, std::string(place).size(), value);
    from += value.size();
  }
  return text;
}

}  // namespace

StatusOr<std::string> StarterManifest(const Starter& starter) {
  const std::string text = Compose(starter);
  ASSIGN_OR_RETURN(const std::vector<api::Manifest> manifests, api::ParseManifests(text, "the manifest"));
  std::string problems;
  for (const api::Manifest& manifest : manifests) {
    for (const api::FieldProblem& problem : manifest.problems)
      problems +=
          (problems.empty() ? "" : "; ") + problem.path + ": found " + problem.found + "; allowed: " + problem.allowed;
  }
  if (problems.empty()) return text;
  return Error(StatusCode::kInvalidArgument, "nothing was written, for the manifest would not be valid: " + problems);
}

}  // namespace attune::cli
