#include "cli/requests/job_words.h"

#include <algorithm>
#include <string>

#include "base/number_text.h"
#include "cli/requests/bad_request.h"
#include "cli/requests/tune_request.h"
#include "cli/requests/workers/sync_request.h"
#include "operator/tuner/space/knob.h"

namespace attune::cli {
namespace {

constexpr int64_t kIndexMax = 1023;  // as many pods as a role may have

bool IsChange(const std::string& word) { return word.find('=') != std::string::npos; }

// "servers" or "servers,slack".
bool NamesKnobs(const std::string& word) {
  for (size_t begin = 0; begin <= word.size();) {
    const size_t comma = std::min(word.find(',', begin), word.size());
    const tuner::KnobRecord* knob = tuner::FindKnob(word.substr(begin, comma - begin));
    if (knob == nullptr || !knob->steered) return false;
    begin = comma + 1;
  }
  return true;
}

bool IsAction(const std::string& word) {
  return word == "pause" || word == "resume" || word == "pin" || word == "unpin" || ParseTuningMode(word).has_value();
}

}  // namespace

StatusOr<JobWords> SortJobWords(const std::vector<std::string>& words, const std::string& usage) {
  JobWords sorted;
  for (const std::string& word : words) {
    if (IsChange(word)) {
      sorted.changes.push_back(word);
    } else if (sorted.job.empty()) {
      sorted.job = word;
    } else {
      return BadRequest("\"" + word + "\" is no change, and the job is " + sorted.job + " already; " + usage);
    }
  }
  if (sorted.changes.empty()) return BadRequest("no change is named; " + usage);
  return sorted;
}

ModeWords SortModeWords(std::string first, std::string second, const std::function<bool(const std::string&)>& is_mode) {
  const bool turned = second.empty() || (is_mode(first) && !is_mode(second));
  if (turned) std::swap(first, second);
  return {std::move(first), std::move(second)};
}

ModeWords SortSyncWords(std::string first, std::string second) {
  return SortModeWords(std::move(first), std::move(second),
                       [](const std::string& word) { return ParseSyncMode(word).ok(); });
}

StatusOr<LogsWords> SortLogsWords(const std::vector<std::string>& words) {
  const auto is_role = [](const std::string& word) { return word == "server" || word == "worker"; };
  std::vector<std::string> rest = words;
  LogsWords sorted;
  // A job may be called as a role is: then a role follows it.
  if (!rest.empty() && (!is_role(rest.front()) || (rest.size() > 1 && is_role(rest[1])))) {
    sorted.job = rest.front();
    rest.erase(rest.begin());
  }
  if (rest.size() > 2) return BadRequest("not expected: " + rest.back() + "; write attune logs JOB ROLE INDEX");
  if (rest.empty()) return sorted;
  if (!is_role(rest.front())) return BadRequest("ROLE: \"" + rest.front() + "\" is not one of: server, worker");
  sorted.role = rest.front();
  if (rest.size() == 1) return sorted;
  if (const std::string problem = ProblemOfWholeNumber(rest[1], 0, kIndexMax); !problem.empty())
    return BadRequest("INDEX: " + problem);
  sorted.index = static_cast<uint32_t>(std::stoul(rest[1]));
  return sorted;
}

StatusOr<TuneWords> SortTuneWords(const std::vector<std::string>& words) {
  TuneWords sorted;
  std::vector<std::string> names;
  for (const std::string& word : words) {
    if (IsChange(word)) {
      sorted.settings += (sorted.settings.empty() ? "" : ",") + word;
    } else {
      names.push_back(word);
    }
  }
  // What stands first is meant as the action, unless it is none and a later word is.
  auto action = std::find_if(names.begin(), names.end(), IsAction);
  if (action == names.end()) action = names.begin();
  if (action == names.end()) return BadRequest(std::string("nothing is said to the tuner; ") + kTuneUsage);
  sorted.action = *action;
  names.erase(action);
  if (sorted.action == "unpin") {
    // A job may be called as a knob is: then the name stands last, after those of knobs.
    auto knobs = std::find_if(names.begin(), names.end(), NamesKnobs);
    if (knobs != names.end()) {
      sorted.settings = *knobs;
      names.erase(knobs);
    }
  }
  if (names.size() > 1) {
    return BadRequest("\"" + names.front() + "\" and \"" + names.back() + "\" cannot both be the job; " + kTuneUsage);
  }
  if (!names.empty()) sorted.job = names.front();
  return sorted;
}

}  // namespace attune::cli
