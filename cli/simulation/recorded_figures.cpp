#include <algorithm>
#include <map>
#include <tuple>

#include "cli/simulation/simulation_options.h"

namespace attune::cli {
namespace {

using SettingKey = std::tuple<int32_t, int32_t, int32_t>;  // servers, workers, threads; 0 threads: not known

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Samples that were trained, and in how many steps, as far as both are known.
struct Trained {
  double samples = 0, samples_of_steps = 0, steps = 0;
};

Trained TrainedIn(const RunHistory& history) {
  Trained trained;
  for (size_t i = 1; i < history.points.size(); ++i) {
    const RunPoint& before = history.points[i - 1];
    const RunPoint& now = history.points[i];
    if (!now.rate) continue;
    const double samples = *now.rate * std::max(0.0, now.time - before.time);
    trained.samples += samples;
    if (!before.steps || !now.steps || *now.steps <= *before.steps) continue;
    trained.samples_of_steps += samples;
    trained.steps += *now.steps - *before.steps;
  }
  return trained;
}

}  // namespace

StatusOr<RecordedFigures> FiguresOf(const RunHistory& history, const std::string& run) {
  std::map<SettingKey, std::vector<double>> rates;
  for (const RunPoint& point : history.points) {
    if (!point.rate || *point.rate <= 0 || point.servers < 1 || point.workers < 1) continue;
    rates[{point.servers, point.workers, point.threads}].push_back(*point.rate);
  }
  if (rates.empty()) {
    return Error(StatusCode::kNotFound, "run " + run + " has recorded no speed of job " + history.name +
                                            ": it ended before its workers reported; take another run, or say "
                                            "--samples-per-second");
  }
  const auto longest = std::ranges::max_element(rates, {}, [](const auto& each) { return each.second.size(); });
  const auto [servers, workers, threads] = longest->first;
  RecordedFigures figures{.run = run, .unit = history.sample_unit};
  figures.setting = {.servers = servers, .workers = workers};
  if (threads > 0) figures.setting.threads = threads;
  figures.samples_per_second = Median(longest->second);
  const Trained trained = TrainedIn(history);
  if (trained.steps > 0) figures.samples_per_step = trained.samples_of_steps / trained.steps;
  const auto& fraction = history.points.back().fraction;
  constexpr double kTelling = 0.02;  // of the goal: less says little of how long it is
  if (fraction && *fraction > kTelling) figures.samples = trained.samples / *fraction;
  return figures;
}

}  // namespace attune::cli
