#include "cli/job_words.h"

#include <algorithm>

#include "cli/sync_request.h"
#include "cli/tune_request.h"
#include "operator/tuner/knob.h"

namespace attune::cli {
namespace {

Status Bad(const std::string& message) { return Error(StatusCode::kInvalidArgument, message); }

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
      return Bad("\"" + word + "\" is no change, and the job is " + sorted.job + " already; " + usage);
    }
  }
  if (sorted.job.empty()) return Bad("no job is named; " + usage);
  return sorted;
}

SyncWords SortSyncWords(std::string first, std::string second) {
  const bool turned = ParseSynchronization(first).ok() && !ParseSynchronization(second).ok();
  if (turned) std::swap(first, second);
  return {std::move(first), std::move(second)};
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
  if (action == names.end()) return Bad(std::string("nothing is said to the tuner; ") + kTuneUsage);
  sorted.action = *action;
  names.erase(action);
  if (sorted.action == "unpin" && names.size() > 1) {
    // A job may be called as a knob is: then the name stands last.
    auto knobs = std::find_if(names.begin(), names.end(), NamesKnobs);
    if (knobs != names.end()) {
      sorted.settings = *knobs;
      names.erase(knobs);
    }
  }
  if (names.empty()) return Bad("no job is named; write attune tune " + sorted.action + " ... JOB");
  if (names.size() > 1) {
    return Bad("\"" + names.front() + "\" and \"" + names.back() + "\" cannot both be the job; " + kTuneUsage);
  }
  sorted.job = names.front();
  return sorted;
}

}  // namespace attune::cli
