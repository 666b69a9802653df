#include "cli/requests/stopping.h"

#include <algorithm>

#include "cli/requests/checkpoint_request.h"

namespace attune::cli {
namespace {

// The job whose checkpoint the run is continued from; null: none has one.
const RunJob* ResumableJob(const RunRecord& record) {
  const auto at =
      std::find_if(record.jobs.begin(), record.jobs.end(), [](const RunJob& job) { return !job.checkpoint.empty(); });
  return at == record.jobs.end() ? nullptr : &*at;
}

std::string Row(const std::string& command, const std::string& what) {
  constexpr size_t kColumn = 38;
  return "  " + command + std::string(command.size() < kColumn ? kColumn - command.size() : 1, ' ') + what + "\n";
}

}  // namespace

std::string StoppingText(const Stopping& stopping) {
  const std::string again = stopping.terminal ? "Ctrl-C again" : "another signal";
  if (!stopping.checkpoint)
    return "stopping: there are no trained rows to keep\n" + Row(again, "ends the processes without waiting for them");
  return "stopping: writing a checkpoint first, for at most " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(kLastCheckpointMax).count()) + " s\n" +
         Row(again, "skips it and ends the processes at once") +
         Row("attune resume " + stopping.run, "continues from it afterwards");
}

std::string StoppedText(const RunRecord& record) {
  std::string text = "stopped; no process is left, logs are in " + record.directory + "\n";
  if (ResumableJob(record) != nullptr) {
    text += Row("attune resume " + record.name, "continues from the checkpoint");
    text += Row("attune resume --detach " + record.name, "the same in the background");
  }
  return text + Row("attune describe " + record.name, "what it did");
}

std::string StoppedJson(const RunRecord& record) {
  kube::Json line = {{"type", "stopped"}, {"run", record.name}, {"directory", record.directory}};
  if (const RunJob* job = ResumableJob(record); job != nullptr) {
    line["checkpoint"] = {
        {"directory", job->checkpoint}, {"number", job->checkpoint_number}, {"step", job->checkpoint_step}};
  }
  return line.dump(-1, ' ', false, kube::Json::error_handler_t::replace);
}

}  // namespace attune::cli
