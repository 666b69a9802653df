#include "operator/tuner/records/history.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace attune::tuner {
namespace {

using SortedJson = nlohmann::json;

SortedJson ToJson(const HistoryEntry& entry) {
  SortedJson speeds = SortedJson::array();
  for (const auto& speed : entry.speeds)
    speeds.push_back({{"setting", speed.setting},
                      {"log_seconds", speed.log_seconds},
                      {"updates", speed.updates},
                      {"windows", speed.windows}});
  return {{"signature", entry.signature},   {"job", entry.job},
          {"knobs", entry.knobs},           {"speeds", std::move(speeds)},
          {"efficiency", entry.efficiency}, {"efficiency_known", entry.efficiency_known},
          {"crashed", entry.crashed},       {"best", entry.best}};
}

HistoryEntry FromJson(const SortedJson& json) {
  HistoryEntry entry;
  entry.signature = json.at("signature").get<std::string>();
  entry.job = json.value("job", "");
  entry.knobs = json.at("knobs").get<std::vector<std::string>>();
  for (const SortedJson& speed : json.at("speeds")) {
    if (entry.speeds.size() >= HistoryEntry::kSpeedsMax) break;
    entry.speeds.push_back({speed.at("setting").get<Setting>(), speed.at("log_seconds").get<double>(),
                            speed.at("updates").get<double>(), speed.at("windows").get<double>()});
  }
  entry.efficiency = json.at("efficiency").get<HypothesisWeights>();
  entry.efficiency_known = json.at("efficiency_known").get<bool>();
  entry.crashed = json.at("crashed").get<std::vector<Setting>>();
  entry.crashed.resize(std::min(entry.crashed.size(), HistoryEntry::kCrashedMax));
  entry.best = json.at("best").get<Setting>();
  return entry;
}

bool Sane(const HistoryEntry& entry) {
  double sum = 0;
  for (const double weight : entry.efficiency) {
    if (!(weight >= 0)) return false;
    sum += weight;
  }
  if (entry.efficiency_known && std::abs(sum - 1) > 1e-3) return false;
  return std::all_of(entry.speeds.begin(), entry.speeds.end(), [&](const HistoryEntry::Speed& speed) {
    return std::isfinite(speed.log_seconds) && speed.updates > 0 && speed.windows > 0 &&
           speed.setting.size() == entry.knobs.size();
  });
}

}  // namespace

void JobHistory::Add(HistoryEntry entry) {
  if (!Sane(entry)) return;
  if (!entry.job.empty()) std::erase_if(entries_, [&](const HistoryEntry& other) { return other.job == entry.job; });
  const auto same = [&](const HistoryEntry& other) { return other.signature == entry.signature; };
  if (std::count_if(entries_.begin(), entries_.end(), same) >= static_cast<std::ptrdiff_t>(kPerSignatureMax))
    entries_.erase(std::find_if(entries_.begin(), entries_.end(), same));
  if (entries_.size() >= kEntriesMax) entries_.erase(entries_.begin());
  entries_.push_back(std::move(entry));
}

std::vector<const HistoryEntry*> JobHistory::Similar(const std::string& signature,
                                                     const std::vector<std::string>& knobs) const {
  std::vector<const HistoryEntry*> similar;
  if (signature.empty()) return similar;
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {  // newest first
    if (entry->signature == signature && entry->knobs == knobs) similar.push_back(&*entry);
  }
  return similar;
}

std::string JobHistory::Save() const {
  SortedJson entries = SortedJson::array();
  for (const HistoryEntry& entry : entries_) entries.push_back(ToJson(entry));
  return SortedJson{{"entries", std::move(entries)}}.dump();
}

StatusOr<JobHistory> JobHistory::Load(const std::string& text) {
  if (text.size() > kBytesMax)
    return Error(StatusCode::kResourceExhausted, "the tuner's history has " + std::to_string(text.size()) +
                                                     " bytes, more than " + std::to_string(kBytesMax) +
                                                     "; delete it to start afresh");
  try {
    JobHistory history;
    const SortedJson json = SortedJson::parse(text);
    for (const SortedJson& entry : json.at("entries")) history.Add(FromJson(entry));
    return history;
  } catch (const SortedJson::exception& error) {
    return Error(StatusCode::kInvalidArgument,
                 std::string("the tuner's history is damaged (") + error.what() + "); delete it to start afresh");
  }
}

}  // namespace attune::tuner
