#include "cli/runs/run_record.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "cli/runs/kept_fields.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

using kube::Json;

constexpr int kRecordFormat = 1;
constexpr size_t kNameMax = 63;
constexpr size_t kListMax = 1000;

constexpr std::array<std::pair<RunOutcome, const char*>, 6> kOutcomes{{{RunOutcome::kRunning, "Running"},
                                                                       {RunOutcome::kSucceeded, "Succeeded"},
                                                                       {RunOutcome::kFailed, "Failed"},
                                                                       {RunOutcome::kInterrupted, "Interrupted"},
                                                                       {RunOutcome::kStopped, "Stopped"},
                                                                       {RunOutcome::kLost, "Lost"}}};

RunOutcome ParseOutcome(std::string_view text) {
  for (const auto& [outcome, name] : kOutcomes) {
    if (text == name) return outcome;
  }
  return RunOutcome::kLost;
}

std::string TimeOrNothing(double seconds) { return seconds > 0 ? TimeText(seconds) : ""; }

int32_t MembersAt(const Json& object, const char* key) { return static_cast<int32_t>(CountAt(object, key, 1e6)); }

std::vector<std::string> TextsAt(const Json& object, const char* key) {
  std::vector<std::string> texts;
  const Json& list = kube::At(object, {key});
  for (size_t i = 0; list.is_array() && i < std::min(list.size(), kListMax); ++i) {
    if (list[i].is_string()) texts.push_back(list[i].get<std::string>());
  }
  return texts;
}

Json ToJson(const RunJob& job) {
  Json results = Json::object();
  for (const auto& [name, value] : job.results) results[name] = Number(value);
  Json object = {{"name", job.name},
                 {"namespace", job.name_space},
                 {"outcome", ToString(job.outcome)},
                 {"fraction", Number(job.fraction)},
                 {"loss", Number(job.loss)},
                 {"rate", Number(job.rate)},
                 {"sampleUnit", job.sample_unit},
                 {"synchronization", job.synchronization},
                 {"servers", job.servers},
                 {"workers", job.workers},
                 {"results", results}};
  if (!job.checkpoint.empty())
    object["checkpoint"] = {
        {"directory", job.checkpoint}, {"number", job.checkpoint_number}, {"step", job.checkpoint_step}};
  if (job.threads) object["threads"] = *job.threads;
  return object;
}

RunJob JobFromJson(const Json& object) {
  RunJob job;
  job.name = TextAt(object, "name");
  job.name_space = TextAt(object, "namespace");
  job.outcome = ParseOutcome(TextAt(object, "outcome"));
  job.fraction = NumberAt(object, "fraction");
  job.loss = NumberAt(object, "loss");
  job.rate = NumberAt(object, "rate");
  job.sample_unit = TextAt(object, "sampleUnit");
  job.synchronization = TextAt(object, "synchronization");
  job.servers = MembersAt(object, "servers");
  job.workers = MembersAt(object, "workers");
  job.checkpoint = std::string(kube::StringAt(object, {"checkpoint", "directory"}));
  job.checkpoint_number =
      static_cast<uint64_t>(std::max<int64_t>(0, kube::IntegerAt(object, {"checkpoint", "number"})));
  job.checkpoint_step = static_cast<uint64_t>(std::max<int64_t>(0, kube::IntegerAt(object, {"checkpoint", "step"})));
  if (NumberAt(object, "threads")) job.threads = MembersAt(object, "threads");
  if (const Json& results = kube::At(object, {"results"}); results.is_object()) {
    for (const auto& [name, value] : results.items()) {
      if (value.is_number()) job.results.emplace_back(name, value.get<double>());
    }
  }
  return job;
}

std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> SeedOfContainer(const Json& container) {
  constexpr std::string_view kFlag = "--seed";
  for (const char* list : {"command", "args"}) {
    const std::vector<std::string> words = TextsAt(container, list);
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string_view word = words[i];
      if (word == kFlag && i + 1 < words.size()) return WholeNumber(words[i + 1]);
      if (word.starts_with(kFlag) && word.substr(kFlag.size()).starts_with('='))
        return WholeNumber(word.substr(kFlag.size() + 1));
    }
  }
  const Json& variables = kube::At(container, {"env"});
  for (const Json& variable : variables.is_array() ? variables : Json::array()) {
    if (TextAt(variable, "name") == "SEED") return WholeNumber(TextAt(variable, "value"));
  }
  return std::nullopt;
}

}  // namespace

std::string ToString(RunOutcome outcome) {
  for (const auto& [each, name] : kOutcomes) {
    if (each == outcome) return name;
  }
  return "Lost";
}

std::string SaveRecord(const RunRecord& record) {
  Json jobs = Json::array();
  for (const RunJob& job : record.jobs) jobs.push_back(ToJson(job));
  Json object = {{"format", kRecordFormat},
                 {"name", record.name},
                 {"tags", record.tags},
                 {"outcome", ToString(record.outcome)},
                 {"started", TimeOrNothing(record.started)},
                 {"ended", TimeOrNothing(record.ended)},
                 {"interrupted", record.interrupted},
                 {"processId", record.process_id},
                 {"processStart", record.process_start},
                 {"arguments", record.arguments},
                 {"workingDirectory", record.working_directory},
                 {"manifest", record.manifest},
                 {"manifestDigest", record.manifest_digest},
                 {"tune", record.tune},
                 {"cores", record.cores},
                 {"namespace", record.name_space},
                 {"resumedFrom", record.resumed_from},
                 {"version", record.version},
                 {"machine",
                  {{"host", record.machine.host},
                   {"kernel", record.machine.kernel},
                   {"processor", record.machine.processor},
                   {"cores", record.machine.cores},
                   {"memoryBytes", record.machine.memory_bytes}}},
                 {"jobs", jobs}};
  if (record.seed) object["seed"] = *record.seed;
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

StatusOr<RunRecord> LoadRecord(const std::string& text) {
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || NumberAt(object, "format") != kRecordFormat || TextAt(object, "name").empty()) {
    return Error(StatusCode::kInvalidArgument, "this is no record of a run that this version of attune can read");
  }
  RunRecord record;
  record.name = TextAt(object, "name");
  record.tags = TextsAt(object, "tags");
  record.outcome = ParseOutcome(TextAt(object, "outcome"));
  record.started = ParseTime(TextAt(object, "started"));
  record.ended = ParseTime(TextAt(object, "ended"));
  record.interrupted = kube::At(object, {"interrupted"}) == true;
  record.process_id = static_cast<int>(std::clamp(NumberAt(object, "processId").value_or(0), 0.0, 2e9));
  record.process_start = TextAt(object, "processStart");
  record.arguments = TextsAt(object, "arguments");
  record.working_directory = TextAt(object, "workingDirectory");
  record.manifest = TextAt(object, "manifest");
  record.manifest_digest = TextAt(object, "manifestDigest");
  record.tune = TextAt(object, "tune");
  record.cores = TextAt(object, "cores");
  record.name_space = TextAt(object, "namespace");
  record.resumed_from = TextAt(object, "resumedFrom");
  record.version = TextAt(object, "version");
  const Json& machine = kube::At(object, {"machine"});
  record.machine = {TextAt(machine, "host"), TextAt(machine, "kernel"), TextAt(machine, "processor"),
                    MembersAt(machine, "cores"),
                    static_cast<uint64_t>(std::clamp(NumberAt(machine, "memoryBytes").value_or(0), 0.0, 9e15))};
  if (const Json& seed = kube::At(object, {"seed"}); seed.is_number_integer()) record.seed = seed.get<int64_t>();
  const Json& jobs = kube::At(object, {"jobs"});
  for (size_t i = 0; jobs.is_array() && i < std::min(jobs.size(), kListMax); ++i) {
    if (jobs[i].is_object()) record.jobs.push_back(JobFromJson(jobs[i]));
  }
  return record;
}

void UpdateRunJob(const JobView& view, RunJob& job) {
  if (view.fraction) job.fraction = view.fraction;
  if (view.loss) job.loss = view.loss;
  if (view.rate) job.rate = view.rate;
  if (!view.sample_unit.empty()) job.sample_unit = view.sample_unit;
  const bool ended = view.outcome != JobView::Outcome::kNone;
  if (!ended) job.synchronization = view.synchronization;
  // At the end the pods leave one by one, which says nothing of the setting.
  if (!ended && view.servers_ready > 0) job.servers = view.servers_ready;
  if (!ended && view.workers_ready > 0) job.workers = view.workers_ready;
  if (!view.checkpoint.empty()) {
    job.checkpoint = view.checkpoint;
    job.checkpoint_number = view.checkpoint_number;
    job.checkpoint_step = view.checkpoint_step;
  }
  if (view.result) job.results.assign(view.result->metrics.begin(), view.result->metrics.end());
  switch (view.outcome) {
    case JobView::Outcome::kNone:
      break;
    case JobView::Outcome::kSucceeded:
      job.outcome = RunOutcome::kSucceeded;
      break;
    case JobView::Outcome::kFailed:
      job.outcome = RunOutcome::kFailed;
      break;
    case JobView::Outcome::kDeleted:
      job.outcome = RunOutcome::kStopped;
      break;
  }
}

RunOutcome OutcomeOf(const std::vector<RunJob>& jobs) {
  for (const RunOutcome outcome :
       {RunOutcome::kRunning, RunOutcome::kFailed, RunOutcome::kLost, RunOutcome::kInterrupted, RunOutcome::kStopped}) {
    if (std::any_of(jobs.begin(), jobs.end(), [&](const RunJob& job) { return job.outcome == outcome; }))
      return outcome;
  }
  return RunOutcome::kSucceeded;
}

std::optional<int64_t> SeedOf(const Json& job) {
  const Json& containers = kube::At(job, {"spec", "workers", "template", "spec", "containers"});
  for (const Json& container : containers.is_array() ? containers : Json::array()) {
    if (const auto seed = SeedOfContainer(container)) return seed;
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> AboutRun(const RunRecord& record) {
  constexpr size_t kDigestShown = 12;
  std::vector<std::pair<std::string, std::string>> about;
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) about.emplace_back(name, text);
  };
  const auto joined = [](const std::vector<std::string>& words, const char* between) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
    return text;
  };
  add("run", record.name);
  add("tags", joined(record.tags, ", "));
  const std::string digest = record.manifest_digest.substr(0, kDigestShown);
  add("manifest", record.manifest + (digest.empty() ? "" : " (SHA-256 " + digest + "\u2026)"));
  if (!record.arguments.empty()) add("command", "attune " + joined(record.arguments, " "));
  add("continued from", record.resumed_from);
  if (record.seed) add("seed", std::to_string(*record.seed));
  if (!record.version.empty()) add("version", "attune " + record.version);
  const RunMachine& machine = record.machine;
  std::vector<std::string> parts;
  if (!machine.host.empty()) parts.push_back(machine.host);
  if (machine.cores > 0) parts.push_back(std::to_string(machine.cores) + (machine.cores == 1 ? " core" : " cores"));
  if (!machine.processor.empty()) parts.push_back(machine.processor);
  if (machine.memory_bytes > 0) parts.push_back(api::FormatBytes(machine.memory_bytes));
  if (!machine.kernel.empty()) parts.push_back(machine.kernel);
  add("machine", joined(parts, ", "));
  return about;
}

std::string ProblemOfRunName(const std::string& name) {
  const bool fits =
      !name.empty() && name.size() <= kNameMax && std::isalnum(static_cast<unsigned char>(name[0])) != 0 &&
      std::all_of(name.begin(), name.end(),
                  [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; });
  return fits ? ""
              : "\"" + name +
                    "\" is no name of a run: write letters, digits, '.', '_' or '-', at most 63, a letter or "
                    "digit first";
}

}  // namespace attune::cli
