// The state of a tuner as JSON, so that a new operator continues where the last one stood.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "operator/tuner/job_json.h"
#include "operator/tuner/records/record_json.h"
#include "operator/tuner/tuner.h"

namespace attune::tuner {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStateVersion = 3;
constexpr size_t kStateBytesMax = 1u << 20;

Json Save(const BlockLog::Dump& dump) {
  Json blocks = Json::array();
  for (const Block& b : dump.blocks)
    blocks.push_back({b.setting, b.source, b.time, b.begin, b.end, b.updates, b.windows, b.log_seconds, b.values,
                      b.weights, b.closed});
  return {{"blocks", std::move(blocks)},
          {"differences", dump.differences},
          {"last_value", dump.last_value},
          {"last_variance", dump.last_variance},
          {"last_setting", dump.last_setting}};
}

BlockLog::Dump LoadBlocks(const Json& json, int settings) {
  BlockLog::Dump dump;
  for (const Json& b : json.at("blocks")) {
    Block block{.setting = b.at(0).get<int>(),
                .source = b.at(1).get<int>(),
                .time = b.at(2).get<double>(),
                .begin = b.at(3).get<double>(),
                .end = b.at(4).get<double>(),
                .updates = b.at(5).get<double>(),
                .windows = b.at(6).get<double>(),
                .log_seconds = b.at(7).get<double>(),
                .values = b.at(8).get<std::vector<double>>(),
                .weights = b.at(9).get<std::vector<double>>(),
                .closed = b.at(10).get<bool>()};
    if (block.setting < 0 || block.setting >= settings || dump.blocks.size() >= BlockLog::kBlocksMax ||
        block.values.size() != block.weights.size())
      throw Json::other_error::create(599, "a block does not fit the space", nullptr);
    dump.blocks.push_back(std::move(block));
  }
  dump.differences = json.at("differences").get<std::vector<double>>();
  dump.last_value = json.at("last_value").get<double>();
  dump.last_variance = json.at("last_variance").get<double>();
  dump.last_setting = json.at("last_setting").get<int>();
  return dump;
}

Json Save(const LossCurve::Dump& dump) {
  Json segments = Json::array();
  for (const LossCurve::Segment& s : dump.segments)
    segments.push_back({s.windows, s.loss, s.staleness, s.updates, s.steps, s.before});
  return {{"segments", std::move(segments)},
          {"total", dump.total},
          {"differences", dump.differences},
          {"last_loss", dump.last_loss},
          {"last_windows", dump.last_windows}};
}

LossCurve::Dump LoadCurve(const Json& json) {
  using Steps = std::array<double, kHypotheses>;
  LossCurve::Dump dump;
  for (const Json& s : json.at("segments"))
    dump.segments.push_back({s.at(0).get<double>(), s.at(1).get<double>(), s.at(2).get<double>(), s.at(3).get<double>(),
                             s.at(4).get<Steps>(), s.at(5).get<Steps>()});
  dump.total = json.at("total").get<Steps>();
  dump.differences = json.at("differences").get<std::vector<double>>();
  dump.last_loss = json.at("last_loss").get<double>();
  dump.last_windows = json.at("last_windows").get<double>();
  return dump;
}

Json Save(const MemoryModel::Dump& dump) {
  return {{"server_precision", dump.server.precision},
          {"server_moment", dump.server.moment},
          {"worker_precision", dump.worker.precision},
          {"worker_moment", dump.worker.moment},
          {"server_seen", dump.server_seen},
          {"worker_seen", dump.worker_seen},
          {"crashed", dump.crashed},
          {"low", dump.low},
          {"high", dump.high},
          {"most", dump.most ? Json{dump.most->rows, dump.most->requests, dump.most->threads} : Json(nullptr)},
          {"silent", dump.silent}};
}

MemoryModel::Dump LoadMemory(const Json& json, const SearchSpace& space) {
  MemoryModel::Dump dump;
  dump.server.precision = json.at("server_precision").get<std::array<double, 9>>();
  dump.server.moment = json.at("server_moment").get<std::array<double, 3>>();
  dump.worker.precision = json.at("worker_precision").get<std::array<double, 9>>();
  dump.worker.moment = json.at("worker_moment").get<std::array<double, 3>>();
  dump.server_seen = json.at("server_seen").get<bool>();
  dump.worker_seen = json.at("worker_seen").get<bool>();
  dump.crashed = json.at("crashed").get<std::vector<int>>();
  dump.low = json.at("low").get<std::vector<double>>();
  dump.high = json.at("high").get<std::vector<double>>();
  if (const auto most = json.find("most"); most != json.end() && most->is_array())
    dump.most = {most->at(0).get<double>(), most->at(1).get<double>(), most->at(2).get<double>()};
  dump.silent = json.value("silent", 0.0);
  const auto knobs = static_cast<size_t>(space.knob_count());
  const bool fits =
      (dump.low.empty() || dump.low.size() == knobs) && dump.low.size() == dump.high.size() &&
      std::all_of(dump.crashed.begin(), dump.crashed.end(), [&](int id) { return id >= 0 && id < space.size(); });
  if (!fits) throw Json::other_error::create(599, "memory does not fit the space", nullptr);
  return dump;
}

Json Save(const std::vector<CpuModel::Entry>& entries) {
  const auto side = [](const CpuModel::Side& s) { return Json{s.throttled, s.use, s.per_update}; };
  Json json = Json::array();
  for (const CpuModel::Entry& e : entries) json.push_back({e.setting, e.windows, side(e.worker), side(e.server)});
  return json;
}

std::vector<CpuModel::Entry> LoadCpu(const Json& json, int settings) {
  const auto side = [](const Json& s) {
    return CpuModel::Side{s.at(0).get<double>(), s.at(1).get<double>(), s.at(2).get<double>()};
  };
  std::vector<CpuModel::Entry> entries;
  for (const Json& e : json) {
    entries.push_back({e.at(0).get<int>(), e.at(1).get<double>(), side(e.at(2)), side(e.at(3))});
    const int setting = entries.back().setting;
    if (setting < 0 || setting >= settings || entries.size() > CpuModel::kEntriesMax)
      throw Json::other_error::create(599, "readings of CPU do not fit the space", nullptr);
  }
  return entries;
}

Json Save(const TimingModel::Saved& saved) {
  const auto list = [](const std::vector<TimeReading>& readings) {
    Json json = Json::array();
    for (const TimeReading& r : readings) json.push_back({r.setting, r.compute, r.busy, r.windows});
    return json;
  };
  return {{"readings", list(saved.readings)}, {"taken", list(saved.taken)}, {"times", saved.times}};
}

TimingModel::Saved LoadTiming(const Json& json, int settings) {
  const auto list = [&](const char* name) {
    std::vector<TimeReading> readings;
    for (const Json& r : json.at(name)) {
      readings.push_back({r.at(0).get<int>(), r.at(1).get<double>(), r.at(2).get<double>(), r.at(3).get<double>()});
      const TimeReading& last = readings.back();
      const bool is_share = last.compute <= 1 && last.busy <= 1;  // negative: not measured
      const bool fits = last.setting >= 0 && last.setting < settings && readings.size() <= TimingModel::kReadingsMax;
      if (!fits || !is_share || !(last.windows >= 0))
        throw Json::other_error::create(599, "readings of time do not fit the space", nullptr);
    }
    return readings;
  };
  return {list("readings"), list("taken"), json.at("times").get<int>()};
}

Evidence::Dump LoadEvidence(const Json& json, const SearchSpace& space) {
  const int settings = space.size();
  Evidence::Dump dump;
  dump.blocks = LoadBlocks(json.at("blocks"), settings);
  dump.curve = LoadCurve(json.at("curve"));
  dump.efficiency_prior = json.at("efficiency_prior").get<HypothesisWeights>();
  dump.memory = LoadMemory(json.at("memory"), space);
  if (const auto cpu = json.find("cpu"); cpu != json.end()) dump.cpu = LoadCpu(*cpu, settings);
  if (const auto timing = json.find("timing"); timing != json.end()) dump.timing = LoadTiming(*timing, settings);
  dump.staleness = {.sum = json.at("staleness_sum").get<double>(),
                    .base = json.at("staleness_base").get<double>(),
                    .settings = json.at("staleness").get<std::vector<std::pair<int, double>>>()};
  const Json& started = json.at("started");
  dump.progress = {.started = started.is_number() ? std::optional(started.get<double>()) : std::nullopt,
                   .last_time = json.at("last_time").get<double>(),
                   .steps = json.at("steps").get<double>(),
                   .seconds = json.at("seconds").get<double>()};
  dump.spent = json.value("spent", 0.0);
  return dump;
}

DecisionRecord LoadRecord(const Json& json, const SearchSpace& space) {
  auto named = RecordFromJson(json);
  bool fits = named.ok() && named->knobs.size() == static_cast<size_t>(space.knob_count());
  for (int k = 0; fits && k < space.knob_count(); ++k)
    fits = named->knobs[static_cast<size_t>(k)] == space.knob_name(k);
  if (!fits) throw Json::other_error::create(599, "a record does not fit the space", nullptr);
  return std::move(named->record);
}

}  // namespace

// Reaches what Save and Load need; nothing else does.
class TunerState {
 public:
  static Json Save(const Tuner& t, size_t newest) {
    Json records = Json::array();
    const std::vector<DecisionRecord>& all = t.log_.records();
    for (size_t i = all.size() - std::min(newest, all.size()); i < all.size(); ++i)
      records.push_back(ToJson(WithNames(all[i], t.space())));
    const Evidence::Dump evidence = t.evidence_.Save();
    const GoalProgress::Dump& progress = evidence.progress;
    const EfficiencyProbe::Dump probe = t.probe_.Save();
    const Stays::Dump stays = t.stays_.Save();
    return {{"state_version", kStateVersion},
            {"job", ToJson(t.evidence_.job_now())},
            {"blocks", tuner::Save(evidence.blocks)},
            {"curve", tuner::Save(evidence.curve)},
            {"efficiency_prior", evidence.efficiency_prior},
            {"memory", tuner::Save(evidence.memory)},
            {"cpu", tuner::Save(evidence.cpu)},
            {"timing", tuner::Save(evidence.timing)},
            {"records", std::move(records)},
            {"started", progress.started ? Json(*progress.started) : Json(nullptr)},
            {"last_time", progress.last_time},
            {"steps", progress.steps},
            {"seconds", progress.seconds},
            {"spent", evidence.spent},
            {"rejected", t.rejected_},
            {"staleness_sum", evidence.staleness.sum},
            {"staleness_base", evidence.staleness.base},
            {"staleness", evidence.staleness.settings},
            {"design_next", t.design_.taken()},
            {"probe_setting", probe.setting},
            {"probe_windows", probe.windows},
            {"windows_since_probe", probe.windows_since},
            {"probe_planned", probe.planned},
            {"probe_staleness", probe.staleness},
            {"looked", t.looked_ ? Json{t.looked_->first, t.looked_->second} : Json(nullptr)},
            {"last_setting", stays.last},
            {"previous_setting", stays.previous},
            {"kept_setting", stays.kept},
            {"previous_kept", stays.previous_kept},
            {"windows_here", stays.windows_here},
            {"next_number", t.log_.next_number()}};
  }

  static void Load(const Json& json, Tuner& t) {
    const int settings = t.space().size();
    t.evidence_.Load(LoadEvidence(json, t.space()));
    std::vector<DecisionRecord> records;
    for (const Json& record : json.at("records")) records.push_back(LoadRecord(record, t.space()));
    t.log_.Load(std::move(records), json.at("next_number").get<uint64_t>());
    t.rejected_ = json.at("rejected").get<uint64_t>();
    t.design_.Load(json.at("design_next").get<size_t>());
    const auto setting = [&](const char* name) { return std::clamp(json.at(name).get<int>(), -1, settings - 1); };
    t.probe_.Load({.setting = setting("probe_setting"),
                   .windows = json.at("probe_windows").get<double>(),
                   .windows_since = json.at("windows_since_probe").get<double>(),
                   .planned = json.at("probe_planned").get<double>(),
                   .staleness = json.at("probe_staleness").get<double>()});
    if (json.at("looked").is_array())
      t.looked_ = {json.at("looked").at(0).get<double>(),
                   std::clamp(json.at("looked").at(1).get<int>(), 0, settings - 1)};
    t.stays_.Load({.last = setting("last_setting"),
                   .previous = setting("previous_setting"),
                   .kept = setting("kept_setting"),
                   .previous_kept = setting("previous_kept"),
                   .windows_here = json.at("windows_here").get<double>()});
  }
};

std::string Tuner::Save(size_t records) const { return TunerState::Save(*this, records).dump(); }

StatusOr<Tuner> Tuner::Load(const std::string& state, PriorCache& priors) {
  const auto damaged = [](const std::string& what) {
    return Error(StatusCode::kInvalidArgument,
                 "the tuner's saved state cannot be used (" + what + "); without it tuning begins again");
  };
  if (state.size() > kStateBytesMax) return damaged("more than " + std::to_string(kStateBytesMax) + " bytes");
  try {
    const Json json = Json::parse(state);
    if (json.at("state_version").get<int>() != kStateVersion) return damaged("another version wrote it");
    ASSIGN_OR_RETURN(JobDescription job, JobFromJson(json.at("job")));
    ASSIGN_OR_RETURN(Tuner tuner, Tuner::Create(std::move(job), priors));
    TunerState::Load(json, tuner);
    return tuner;
  } catch (const Json::exception& error) {
    return damaged(error.what());
  }
}

}  // namespace attune::tuner
