// bench_tuning: the tuner and the baselines on simulated jobs, as tables (see --help).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "bench/tuning/simulation.h"

namespace attune::bench {
namespace {

constexpr char kHelp[] =
    "bench_tuning [options]     completion times of simulated jobs against the best static setting\n"
    "  --seeds N        jobs per family (3)         --first-seed N   (1)\n"
    "  --families SET   development (default), hold-out, resources, resources-hold-out, or names separated by commas\n"
    "  --methods LIST   tuner, tuner-<part> without a part, expert, random12, hill-climbing, halving, gp-ei,\n"
    "                   marginal-gain, published; separated by commas (tuner)\n"
    "  --windows N      length of all jobs in windows of the best setting (else log-uniform in 100..2000)\n"
    "  --noise X        loss noise of a window (0.05)   --goal loss|steps   --objective time|cost\n"
    "  --restart S      every change is a restart from a checkpoint that costs S seconds\n"
    "  --per-family     a line for every family, of the first method    --trace   every decision of every job\n"
    "  --each           a line for every job as it ends: what it lost in trials, at kept settings, in changes and\n"
    "                   crashes, as shares of the best setting's time\n";

struct Options {
  int seeds = 3;
  uint64_t first_seed = 1;
  std::vector<std::string> families = DevelopmentFamilies();
  std::vector<std::string> methods = {"tuner"};
  double windows = 0, noise = -1, restart = 0;
  tuner::ObjectiveKind objective = tuner::ObjectiveKind::kTime;
  bool steps_goal = false, per_family = false, trace = false, each = false;
};

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> words;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

bool Parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (flag == "--seeds")
      options.seeds = std::atoi(value().c_str());
    else if (flag == "--first-seed")
      options.first_seed = std::strtoull(value().c_str(), nullptr, 10);
    else if (flag == "--methods")
      options.methods = Split(value());
    else if (flag == "--windows")
      options.windows = std::atof(value().c_str());
    else if (flag == "--restart")
      options.restart = std::atof(value().c_str());
    else if (flag == "--noise")
      options.noise = std::atof(value().c_str());
    else if (flag == "--goal")
      options.steps_goal = value() == "steps";
    else if (flag == "--objective")
      options.objective = value() == "cost" ? tuner::ObjectiveKind::kCost : tuner::ObjectiveKind::kTime;
    else if (flag == "--per-family")
      options.per_family = true;
    else if (flag == "--trace")
      options.trace = true;
    else if (flag == "--each")
      options.each = true;
    else if (flag == "--families") {
      const std::string set = value();
      options.families = set == "development"          ? DevelopmentFamilies()
                         : set == "hold-out"           ? HoldOutFamilies()
                         : set == "resources"          ? ResourceFamilyNames()
                         : set == "resources-hold-out" ? ResourceHoldOutFamilyNames()
                                                       : Split(set);
    } else {
      return false;
    }
  }
  return true;
}

std::optional<tuner::TunerParts> PartsOf(const std::string& method) {
  tuner::TunerParts parts;
  if (method == "tuner") return parts;
  const std::map<std::string, bool tuner::TunerParts::*> names = {
      {"structure", &tuner::TunerParts::structure},  {"efficiency", &tuner::TunerParts::efficiency},
      {"collapse", &tuner::TunerParts::collapse},    {"medians", &tuner::TunerParts::medians},
      {"memory", &tuner::TunerParts::memory},        {"crash", &tuner::TunerParts::crash_rule},
      {"design", &tuner::TunerParts::start_design},  {"value", &tuner::TunerParts::value_of_trial},
      {"costs", &tuner::TunerParts::change_costs},   {"hysteresis", &tuner::TunerParts::hysteresis},
      {"drift", &tuner::TunerParts::drift},          {"probe", &tuner::TunerParts::probe},
      {"horizon", &tuner::TunerParts::loss_horizon}, {"cpu", &tuner::TunerParts::cpu},
      {"timing", &tuner::TunerParts::timing}};
  for (const auto& [name, part] : names) {
    if (method == "tuner-" + name) {
      parts.*part = false;
      return parts;
    }
  }
  return std::nullopt;
}

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

void PrintHeader() {
  std::printf("%-25s %5s %7s %7s %7s %7s %7s %7s %7s %7s %5s %6s %6s %6s %6s %6s %6s %6s %6s %6s\n", "", "jobs",
              "median", "mean", "p95", "max", "<200w", "first", "vs mean", "vs exp", "chg", "noop", "small%", "rolled",
              "crash", "t err", "cover", "known", "coll.w", "ms");
}

void PrintRow(const std::string& name, const std::vector<const Outcome*>& outcomes) {
  std::vector<double> ratios, changes, errors, first_looks;
  double sum = 0, short_sum = 0, mean_log = 0, expert = 0, no_ops = 0, small = 0, moves = 0, rollbacks = 0,
         adoptions = 0;
  double crashes = 0, covered = 0, known = 0, ms = 0, decisions = 0, collapse = 0;
  int short_jobs = 0;
  for (const Outcome* o : outcomes) {
    ratios.push_back(o->ratio);
    changes.push_back(o->changes);
    if (o->first_look > 0) first_looks.push_back(o->first_look);
    sum += o->ratio;
    if (o->length_windows < 200) {
      short_sum += o->ratio;
      ++short_jobs;
    }
    mean_log += std::log(o->against_mean);
    expert = std::max(expert, o->against_expert);
    no_ops += o->no_ops;
    small += o->small_moves;
    moves += o->changes;
    rollbacks += o->rollbacks;
    adoptions += o->adoptions;
    crashes += o->crashes;
    if (o->remaining_known) {
      errors.push_back(o->remaining_error);
      covered += o->covered;
      ++known;
    }
    ms += o->milliseconds_per_decision * o->decisions;
    decisions += o->decisions;
    collapse = std::max(collapse, o->collapse_windows);
  }
  const auto n = static_cast<double>(outcomes.size());
  std::printf(
      "%-25s %5d %7.3f %7.3f %7.3f %7.2f %7.3f %7.2f %7.2f %7.3f %5.0f %6.2f %6.1f %6.1f %6.2f %6.2f %6.2f %6.2f %6.0f "
      "%6.2f\n",
      name.c_str(), static_cast<int>(n), Quantile(ratios, 0.5), sum / n, Quantile(ratios, 0.95), Quantile(ratios, 1),
      short_jobs > 0 ? short_sum / short_jobs : std::nan(""), Quantile(first_looks, 0.5), std::exp(mean_log / n),
      expert, Quantile(changes, 0.5), no_ops / n, 100 * small / std::max(moves, 1.0),
      100 * rollbacks / std::max(adoptions, 1.0), crashes / n, Quantile(errors, 0.5),
      known > 0 ? covered / known : std::nan(""), known / n, collapse, ms / std::max(decisions, 1.0));
}

// On how many families the first method's mean is not above another's by more than a tie of 1 %, and where it is.
void PrintAhead(const std::vector<std::string>& methods, const std::map<std::string, std::vector<Outcome>>& all) {
  const auto means = [&](const std::string& method) {
    std::map<std::string, double> sums, counts;
    for (const Outcome& outcome : all.at(method)) {
      sums[outcome.family] += outcome.ratio;
      counts[outcome.family] += 1;
    }
    for (auto& [family, sum] : sums) sum /= counts[family];
    return sums;
  };
  constexpr double kTie = 1.01;
  const auto first = means(methods.front());
  for (size_t i = 1; i < methods.size(); ++i) {
    const auto other = means(methods[i]);
    std::string behind;
    size_t ahead = first.size();
    for (const auto& [family, mean] : first) {
      if (mean <= kTie * other.at(family)) continue;
      --ahead;
      char text[96];
      std::snprintf(text, sizeof text, " %s (%.3f, %.3f)", family.c_str(), mean, other.at(family));
      behind += text;
    }
    std::printf("%s ahead of %s on %zu of %zu families; behind:%s\n", methods.front().c_str(), methods[i].c_str(),
                ahead, first.size(), behind.empty() ? " none" : behind.c_str());
  }
}

void PrintEach(const std::string& method, const Outcome& o) {
  std::printf(
      "%-18s %-24s %4llu ratio %.3f windows %4.0f lost: trials %.3f kept %.3f changes %.3f crashes %.3f  "
      "changes %d adoptions %d rolled back %d crashes %d collapsed %.0f\n",
      method.c_str(), o.family.c_str(), static_cast<unsigned long long>(o.seed), o.ratio, o.length_windows,
      o.lost_in_trials, o.lost_while_kept, o.lost_in_changes, o.lost_in_crashes, o.changes, o.adoptions, o.rollbacks,
      o.crashes, o.collapse_windows);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, options)) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  tuner::PriorCache priors;
  std::map<std::string, std::vector<Outcome>> all;
  for (const std::string& family : options.families) {
    for (int i = 0; i < options.seeds; ++i) {
      JobModel job =
          MakeJob(family, options.first_seed + static_cast<uint64_t>(i),
                  {.windows = options.windows, .steps_goal = options.steps_goal, .objective = options.objective});
      if (options.noise >= 0) job.loss_noise = options.noise;
      job.restart_seconds = options.restart;
      for (const std::string& method : options.methods) {
        const auto parts = PartsOf(method);
        const auto policy = parts ? MakeTuner(job, priors, *parts) : MakeBaseline(method, job, priors);
        if (policy == nullptr) {
          std::fprintf(stderr, "bench_tuning: no method %s; see --help\n", method.c_str());
          return 2;
        }
        if (options.trace)
          std::printf("-- %s %llu %s: best %d:%d:%d:%d:%d, %.0f windows of %.1f s, pods %.0f s\n", family.c_str(),
                      static_cast<unsigned long long>(job.seed), method.c_str(), job.best.servers, job.best.workers,
                      job.best.threads, job.best.worker_millicores, job.best.server_millicores, job.length_windows,
                      job.window_seconds, job.costs.pods);
        all[method].push_back(RunJob(job, *policy, options.trace));
        if (options.each) PrintEach(method, all[method].back());
        if (options.trace) std::printf("   ratio %.3f\n", all[method].back().ratio);
      }
    }
  }
  PrintHeader();
  for (const std::string& method : options.methods) {
    std::map<std::string, std::vector<const Outcome*>> families;
    std::vector<const Outcome*> every;
    for (const Outcome& outcome : all[method]) {
      families[outcome.family].push_back(&outcome);
      every.push_back(&outcome);
    }
    PrintRow(method, every);
    if (!options.per_family || method != options.methods.front()) continue;
    for (const auto& [family, outcomes] : families) PrintRow("  " + family, outcomes);
  }
  PrintAhead(options.methods, all);
  return 0;
}

}  // namespace
}  // namespace attune::bench

int main(int argc, char** argv) { return attune::bench::Main(argc, argv); }
