#include "cli/report/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <set>

#include "cli/display/table.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

using kube::Json;

constexpr size_t kDifferencesMax = 200;
std::string ValueText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void AddDifferences(const std::string& path, const Json* first, const Json* second, std::vector<Difference>& found) {
  if (found.size() >= kDifferencesMax) return;
  if (first != nullptr && second != nullptr) {
    if (*first == *second) return;
    if (first->is_object() && second->is_object()) {
      std::set<std::string> keys;
      for (const Json* each : {first, second}) {
        for (const auto& [key, value] : each->items()) keys.insert(key);
      }
      const auto member = [](const Json& object, const std::string& key) {
        const auto at = object.find(key);
        return at == object.end() ? nullptr : &*at;
      };
      for (const std::string& key : keys)
        AddDifferences(path.empty() ? key : path + "." + key, member(*first, key), member(*second, key), found);
      return;
    }
    const bool lists_of_objects =
        first->is_array() && second->is_array() && first->size() == second->size() &&
        std::all_of(first->begin(), first->end(), [](const Json& v) { return v.is_object(); });
    if (lists_of_objects) {
      for (size_t i = 0; i < first->size(); ++i)
        AddDifferences(path + "[" + std::to_string(i) + "]", &(*first)[i], &(*second)[i], found);
      return;
    }
  }
  found.push_back({path, first == nullptr ? "" : ValueText(*first), second == nullptr ? "" : ValueText(*second)});
}

std::string JoinWords(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string Percent(double first, double second) {
  if (first == 0 || !std::isfinite(first) || !std::isfinite(second)) return "";
  const double change = (second / first - 1) * 100;
  char text[32];
  std::snprintf(text, sizeof text, std::abs(change) < 9.95 ? " (%+.1f %%)" : " (%+.0f %%)", change);
  return text;
}

double DurationOf(const RunRecord& record) {
  return record.ended > record.started && record.started > 0 ? record.ended - record.started : 0;
}

using Figures = std::vector<std::pair<std::string, double>>;

// By name, in a fixed order; of every job when there are several.
Figures FiguresOf(const RunRecord& record) {
  Figures figures;
  if (DurationOf(record) > 0) figures.emplace_back("duration", DurationOf(record));
  for (const RunJob& job : record.jobs) {
    const std::string of = record.jobs.size() > 1 ? job.name + " " : "";
    if (job.loss) figures.emplace_back(of + "loss", *job.loss);
    if (job.rate) figures.emplace_back(of + "rate", *job.rate);
    for (const auto& [name, value] : job.results) figures.emplace_back(of + name, value);
  }
  return figures;
}

std::string FigureText(const std::string& name, double value) {
  if (name == "duration") return api::FormatSeconds(value);
  if (name == "rate" || name.ends_with(" rate")) return api::FormatRate(value, "");
  return api::FormatFigure(value);
}

void AddOutcomes(const RunRecord& first, const RunRecord& second, std::vector<Difference>& outcomes) {
  outcomes.push_back({"outcome", ToString(first.outcome), ToString(second.outcome)});
  const auto setting = [](const RunRecord& record) {
    std::string text;
    for (const RunJob& job : record.jobs) text += (text.empty() ? "" : "; ") + SettingText(job);
    return text;
  };
  outcomes.push_back({"setting at last", setting(first), setting(second)});
  const Figures of_first = FiguresOf(first), of_second = FiguresOf(second);
  const auto find = [](const Figures& figures, const std::string& name) {
    const auto at = std::find_if(figures.begin(), figures.end(), [&](const auto& each) { return each.first == name; });
    return at == figures.end() ? std::optional<double>() : std::optional(at->second);
  };
  for (const auto& [name, value] : of_first) {
    const auto other = find(of_second, name);
    outcomes.push_back({name, FigureText(name, value), other ? FigureText(name, *other) + Percent(value, *other) : ""});
  }
  for (const auto& [name, value] : of_second) {
    if (!find(of_first, name)) outcomes.push_back({name, "", FigureText(name, value)});
  }
}

void AddDifference(const std::string& what, const std::string& first, const std::string& second,
                   std::vector<Difference>& differences) {
  if (first != second) differences.push_back({what, first, second});
}

// What a user chose, without what the machinery adds.
Json Chosen(const Json& job) { return {{"metadata", {{"name", kube::Name(job)}}}, {"spec", kube::At(job, {"spec"})}}; }

void AddTable(std::string& text, const std::string& title, const std::vector<Difference>& differences,
              const std::string& first, const std::string& second) {
  text += "\n" + title + ":\n";
  Table table{{"", first, second}, {}};
  for (const Difference& each : differences) {
    table.rows.push_back({each.what, each.first.empty() ? "-" : each.first, each.second.empty() ? "-" : each.second});
  }
  for (const std::string& line : FormatTable(table)) text += "  " + line + "\n";
}

Json ToJson(const std::vector<Difference>& differences) {
  Json list = Json::array();
  for (const Difference& each : differences)
    list.push_back({{"what", each.what}, {"first", each.first}, {"second", each.second}});
  return list;
}

std::string UtcDateText(double seconds) {
  if (seconds <= 0) return "";
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string MachineText(const RunMachine& machine) {
  std::string text = machine.host;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  add(machine.processor);
  if (machine.cores > 0) add(std::to_string(machine.cores) + (machine.cores == 1 ? " core" : " cores"));
  if (machine.memory_bytes > 0) add(api::FormatBytes(machine.memory_bytes));
  add(machine.kernel);
  return text;
}

}  // namespace

std::vector<Difference> DifferencesOf(const Json& first, const Json& second) {
  std::vector<Difference> found;
  AddDifferences("", &first, &second, found);
  return found;
}

std::string SettingText(const RunJob& job) {
  if (job.servers == 0 && job.workers == 0) return "";
  std::string text = std::to_string(job.servers) + " x " + std::to_string(job.workers);
  if (!job.synchronization.empty()) text += ", " + job.synchronization;
  if (job.threads) text += ", " + std::to_string(*job.threads) + (*job.threads == 1 ? " thread" : " threads");
  return text;
}

Comparison Compare(const ComparedRun& first, const ComparedRun& second) {
  Comparison comparison;
  for (size_t i = 0; i < std::max(first.jobs.size(), second.jobs.size()); ++i) {
    const Json of_first = i < first.jobs.size() ? Chosen(first.jobs[i]) : Json::object();
    const Json of_second = i < second.jobs.size() ? Chosen(second.jobs[i]) : Json::object();
    for (Difference& each : DifferencesOf(of_first, of_second)) comparison.inputs.push_back(std::move(each));
  }
  const RunRecord &a = first.record, &b = second.record;
  AddDifference("arguments", JoinWords(a.arguments), JoinWords(b.arguments), comparison.inputs);
  AddDifference("limit of cores", a.cores, b.cores, comparison.inputs);
  AddDifference("resumed from", a.resumed_from, b.resumed_from, comparison.inputs);
  AddDifference("working directory", a.working_directory, b.working_directory, comparison.inputs);
  AddDifference("version", a.version, b.version, comparison.inputs);
  AddDifference("machine", MachineText(a.machine), MachineText(b.machine), comparison.inputs);
  AddOutcomes(a, b, comparison.outcomes);
  return comparison;
}

std::string ComparisonText(const ComparedRun& first, const ComparedRun& second, const Comparison& comparison) {
  std::string text = first.record.name + " (" + UtcDateText(first.record.started) + ") and " + second.record.name +
                     " (" + UtcDateText(second.record.started) + ")\n";
  if (comparison.inputs.empty()) {
    text += "\nBoth were given the same.\n";
  } else {
    AddTable(text, "What was different", comparison.inputs, first.record.name, second.record.name);
  }
  AddTable(text, "What came of it", comparison.outcomes, first.record.name, second.record.name);
  return text;
}

Json ToJson(const ComparedRun& first, const ComparedRun& second, const Comparison& comparison) {
  return {{"first", first.record.name},
          {"second", second.record.name},
          {"inputs", ToJson(comparison.inputs)},
          {"outcomes", ToJson(comparison.outcomes)}};
}

Table RunTable(const std::vector<RunRecord>& runs, double now) {
  Table table{{"NAME", "WHEN", "OUTCOME", "TOOK", "LOSS", "RATE", "SETTING", "TAGS", "DIRECTORY"}, {}};
  for (const RunRecord& run : runs) {
    const RunJob job = run.jobs.empty() ? RunJob() : run.jobs.front();
    const double end = run.outcome == RunOutcome::kRunning ? now : run.ended;
    std::string tags;
    for (const std::string& tag : run.tags) tags += (tags.empty() ? "" : ",") + tag;
    std::string outcome = ToString(run.outcome);
    if (run.outcome != RunOutcome::kSucceeded && job.fraction) outcome += " at " + api::FormatPercent(*job.fraction);
    table.rows.push_back({run.name, run.started > 0 ? api::FormatAge(std::max(0.0, now - run.started)) + " ago" : "-",
                          outcome, end > run.started && run.started > 0 ? api::FormatSeconds(end - run.started) : "-",
                          job.loss ? api::FormatFigure(*job.loss) : "-",
                          job.rate ? api::FormatRate(*job.rate, job.sample_unit) : "-",
                          SettingText(job).empty() ? "-" : SettingText(job), tags.empty() ? "-" : tags, run.directory});
  }
  return table;
}

std::string RunText(const RunRecord& record, uint64_t bytes, double now) {
  std::string text, tags;
  for (const std::string& tag : record.tags) tags += (tags.empty() ? "" : ", ") + tag;
  AppendNamedLine(text, "Name", record.name);
  AppendNamedLine(text, "Tags", tags);
  AppendNamedLine(text, "Outcome", ToString(record.outcome));
  AppendNamedLine(text, "Started",
                  UtcDateText(record.started) + " (" + api::FormatAge(std::max(0.0, now - record.started)) + " ago)");
  if (record.ended > 0) AppendNamedLine(text, "Ended", UtcDateText(record.ended));
  if (DurationOf(record) > 0) AppendNamedLine(text, "Took", api::FormatSeconds(DurationOf(record)));
  AppendNamedLine(text, "Manifest", record.manifest);
  AppendNamedLine(text, "Arguments", JoinWords(record.arguments));
  AppendNamedLine(text, "In", record.working_directory);
  AppendNamedLine(text, "Resumed from", record.resumed_from);
  if (record.seed) AppendNamedLine(text, "Seed", std::to_string(*record.seed));
  AppendNamedLine(text, "Version", record.version);
  AppendNamedLine(text, "Machine", MachineText(record.machine));
  AppendNamedLine(text, "Directory", record.directory + (bytes > 0 ? " (" + api::FormatBytes(bytes) + ")" : ""));
  for (const RunJob& job : record.jobs) {
    text += "\nJob " + job.name + " (" + ToString(job.outcome) + "):\n";
    const auto row = [&](const std::string& name, const std::string& value) {
      std::string line;
      AppendNamedLine(line, name, value);
      if (!line.empty()) text += "  " + line;
    };
    if (job.fraction) row("Progress", api::FormatPercent(*job.fraction));
    if (job.loss) row("Loss", api::FormatFigure(*job.loss));
    if (job.rate) row("Rate", api::FormatRate(*job.rate, job.sample_unit));
    row("Setting", SettingText(job));
    for (const auto& [name, value] : job.results) row(name, api::FormatFigure(value));
    if (!job.checkpoint.empty()) {
      row("Checkpoint", std::to_string(job.checkpoint_number) + " in " + job.checkpoint + " at step " +
                            std::to_string(job.checkpoint_step));
    }
  }
  return text;
}

}  // namespace attune::cli
