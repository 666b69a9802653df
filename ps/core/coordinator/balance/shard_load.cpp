#include "ps/core/coordinator/balance/shard_load.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace attune::ps {
namespace {

constexpr double kTimeConstantSeconds = 10;
constexpr Duration kShortest = std::chrono::milliseconds(100);  // that a rate is taken over
constexpr Duration kSilentAfter = std::chrono::seconds(3);
// Far more than any server can answer: no sum of rates becomes infinite, whatever a server says.
constexpr double kKeysPerSecondMax = 1e12;

// What is left of a second's weight so much later.
double Left(Duration later) { return std::exp(-Seconds(later) / kTimeConstantSeconds); }

}  // namespace

void ShardLoad::Mean::Add(double rate, Duration lasted) {
  const double left = Left(lasted);
  sum = sum * left + rate * (1 - left);
  weight = weight * left + (1 - left);
}

void ShardLoad::OnReport(NodeId server, const LoadReport& report, const ShardMap& map, MonotonicTime now) {
  if (!map.formed() || !map.Contains(server)) return;
  std::erase_if(reporters_, [&](const auto& entry) { return !map.Contains(entry.first); });
  const auto [it, is_first] = reporters_.try_emplace(server);
  Reporter& reporter = it->second;
  if (report.number <= reporter.number) return;
  const Duration unreported = is_first ? Duration::zero() : now - reporter.heard - report.lasted;
  reporter = {.number = report.number, .heard = now};
  if (report.lasted < kShortest) return;
  shards_.resize(map.shards.size());
  const double seconds = Seconds(report.lasted);
  auto said = report.shards.begin();
  for (uint32_t i = 0; i < shards_.size(); ++i) {
    while (said != report.shards.end() && said->shard < ShardId(i)) ++said;
    const uint64_t keys = said != report.shards.end() && said->shard == ShardId(i) ? said->keys : 0;
    const Shard& shard = map.shards[i];
    if (shard.home != server || shard.routing_since > report.map_version) continue;
    if (unreported > kSilentAfter) shards_[i].Add(0, unreported);
    shards_[i].Add(std::min(static_cast<double>(keys) / seconds, kKeysPerSecondMax), report.lasted);
  }
}

std::vector<double> ShardLoad::Rates(const ShardMap& map, MonotonicTime now) const {
  std::vector<double> rates(map.shards.size());
  std::vector<std::pair<NodeId, double>> left;  // ascending
  left.reserve(reporters_.size());
  for (const auto& [server, reporter] : reporters_) {
    const Duration silent = now - reporter.heard;
    left.emplace_back(server, silent > kSilentAfter ? Left(silent - kSilentAfter) : 1);
  }
  for (size_t i = 0; i < std::min(rates.size(), shards_.size()); ++i) {
    const Mean& mean = shards_[i];
    if (mean.weight <= 0) continue;
    const NodeId home = map.shards[i].home;
    const auto found = std::ranges::lower_bound(left, home, {}, &std::pair<NodeId, double>::first);
    // The home has changed, and the new one has not spoken yet: what is known of the shard is as new as it can be.
    rates[i] = mean.sum / mean.weight * (found == left.end() || found->first != home ? 1 : found->second);
  }
  return rates;
}

void ShardLoad::SkipPause(Duration pause) {
  for (auto& [server, reporter] : reporters_) reporter.heard += pause;
}

std::vector<double> LoadByServer(const ShardMap& map, std::span<const NodeId> servers, std::span<const double> rates) {
  std::vector<double> by_place(servers.size());
  for (size_t i = 0; i < rates.size(); ++i) {
    const auto place = std::ranges::lower_bound(servers, map.shards[i].home);
    if (place != servers.end() && *place == map.shards[i].home) {
      by_place[static_cast<size_t>(place - servers.begin())] += rates[i];
    }
  }
  return by_place;
}

}  // namespace attune::ps
