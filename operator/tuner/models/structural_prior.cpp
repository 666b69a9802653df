#include "operator/tuner/models/structural_prior.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "operator/tuner/models/random/random_model.h"

namespace attune::tuner {
namespace {

constexpr double kLengthScale = 1.5;  // octaves

float Matern(const SearchSpace& space, int a, int b) {
  double square = 0;
  for (int k = 0; k < space.knob_count(); ++k) {
    const double difference = (space.Coordinate(a, k) - space.Coordinate(b, k)) / kLengthScale;
    square += difference * difference;
  }
  const double r = std::sqrt(5 * square);
  return static_cast<float>((1 + r + r * r / 3) * std::exp(-r));
}

// The level is arbitrary.
void SetColumn(const SearchSpace& space, const RandomModel& model, Eigen::MatrixXf& logs, Eigen::Index column) {
  for (int id = 0; id < space.size(); ++id) logs(id, column) = static_cast<float>(model.LogSeconds(id));
  logs.col(column).array() -= logs.col(column).mean();
}

// Mean and covariance of the columns, by their weights, which add up to 1.
void Summarize(Eigen::MatrixXf& logs, const Eigen::VectorXf& weights, std::vector<double>& mean,
               std::vector<float>& covariance) {
  const Eigen::Index n = logs.rows();
  const Eigen::VectorXf means = logs * weights;
  mean.resize(static_cast<size_t>(n));
  for (Eigen::Index id = 0; id < n; ++id) mean[static_cast<size_t>(id)] = means(id);
  logs.colwise() -= means;
  logs.array().rowwise() *= weights.array().sqrt().transpose();
  covariance.assign(static_cast<size_t>(n * n), 0);
  Eigen::Map<Eigen::MatrixXf> matrix(covariance.data(), n, n);
  matrix.selfadjointView<Eigen::Lower>().rankUpdate(logs);
  matrix.triangularView<Eigen::StrictlyUpper>() = matrix.transpose();
}

// --- models that agree with what was read

// Half the square of how far a model is from the readings, in deviations: of both the reading, and of a model that is
// never quite right.
double Disagreement(const RandomModel& model, const std::vector<TimeReading>& readings) {
  constexpr double kCompute = 0.08, kBusy = 0.1;
  double sum = 0;
  const auto add = [&](double away, double deviation) { sum += 0.5 * away * away / (deviation * deviation); };
  for (const TimeReading& reading : readings) {
    const TimeShares shares = model.Shares(reading.setting);
    // What a program does for messages, it may count as computing or not.
    if (reading.compute >= 0)
      add(std::max({shares.compute - reading.compute, reading.compute - shares.compute_and_messages, 0.0}), kCompute);
    if (reading.busy >= 0) add(reading.busy - shares.busy, kBusy);
  }
  return sum;
}

double EffectiveCount(const std::vector<double>& weights) {
  double sum = 0, squares = 0;
  for (const double weight : weights) {
    sum += weight;
    squares += weight * weight;
  }
  return sum * sum / squares;
}

std::vector<double> Tempered(const std::vector<double>& disagreements, double temper) {
  const double least = *std::min_element(disagreements.begin(), disagreements.end());
  std::vector<double> weights;
  weights.reserve(disagreements.size());
  for (const double value : disagreements) weights.push_back(std::exp(-temper * (value - least)));
  return weights;
}

// They add up to 1.
std::vector<double> Weights(const std::vector<double>& disagreements) {
  constexpr int kHalvings = 20;
  double low = 0, high = 1;
  if (EffectiveCount(Tempered(disagreements, 1)) < StructuralPrior::kAgree) {
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      (EffectiveCount(Tempered(disagreements, middle)) < StructuralPrior::kAgree ? high : low) = middle;
    }
  } else {
    low = 1;
  }
  std::vector<double> weights = Tempered(disagreements, low);
  double sum = 0;
  for (const double weight : weights) sum += weight;
  for (double& weight : weights)
    weight = (1 - StructuralPrior::kDoubt) * weight / sum +
             StructuralPrior::kDoubt / static_cast<double>(disagreements.size());
  return weights;
}

// Systematic resampling: kKept of them, each as often as its weight says; equal ones once, with their share.
std::vector<std::pair<size_t, double>> Select(const std::vector<double>& weights, double offset) {
  std::vector<std::pair<size_t, double>> kept;
  double reached = 0;
  int taken = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    reached += weights[i] * StructuralPrior::kKept;
    int count = 0;
    while (taken < StructuralPrior::kKept && taken + offset < reached) {
      ++taken;
      ++count;
    }
    if (count > 0) kept.emplace_back(i, static_cast<double>(count) / StructuralPrior::kKept);
  }
  return kept;
}

}  // namespace

StructuralPrior::StructuralPrior(const SearchSpace& space, SyncMode mode, uint64_t seed, int draws)
    : size_(space.size()) {
  Random random(seed);
  Eigen::MatrixXf logs(size_, draws);
  for (int draw = 0; draw < draws; ++draw) SetColumn(space, RandomModel(space, mode, random), logs, draw);
  Summarize(logs, Eigen::VectorXf::Constant(draws, 1.0F / static_cast<float>(draws)), mean_, structure_);
  const auto n = static_cast<size_t>(size_);
  std::vector<float> matern(n * n);
  for (int a = 0; a < size_; ++a) {
    for (int b = 0; b <= a; ++b) {
      const float value = Matern(space, a, b);
      matern[static_cast<size_t>(a) * n + static_cast<size_t>(b)] = value;
      matern[static_cast<size_t>(b) * n + static_cast<size_t>(a)] = value;
    }
  }
  matern_ = std::make_shared<const std::vector<float>>(std::move(matern));
}

StructuralPrior::StructuralPrior(const StructuralPrior& base, const SearchSpace& space, SyncMode mode, uint64_t seed,
                                 const std::vector<TimeReading>& readings)
    : size_(base.size_), matern_(base.matern_) {
  Random random(seed);
  std::vector<RandomModel> models;
  std::vector<double> disagreements;
  models.reserve(kCandidates);
  for (int draw = 0; draw < kCandidates; ++draw) {
    models.emplace_back(space, mode, random);
    disagreements.push_back(Disagreement(models.back(), readings));
  }
  const std::vector<std::pair<size_t, double>> kept = Select(Weights(disagreements), random.Uniform());
  Eigen::MatrixXf logs(size_, static_cast<Eigen::Index>(kept.size()));
  Eigen::VectorXf weights(static_cast<Eigen::Index>(kept.size()));
  for (size_t i = 0; i < kept.size(); ++i) {
    SetColumn(space, models[kept[i].first], logs, static_cast<Eigen::Index>(i));
    weights(static_cast<Eigen::Index>(i)) = static_cast<float>(kept[i].second);
  }
  Summarize(logs, weights, mean_, structure_);
}

std::shared_ptr<const StructuralPrior> PriorCache::Get(const SearchSpace& space, SyncMode mode) {
  std::string key = mode == SyncMode::Bsp() ? "bsp" : "async";
  for (int k = 0; k < space.knob_count(); ++k) {
    const KnobRange& knob = space.description().knobs[static_cast<size_t>(k)];
    key += ',' + knob.name + ':' + std::to_string(knob.low) + ':' + std::to_string(knob.high);
  }
  for (int id = 0; id < space.size(); ++id) {
    key += ';';
    for (const int value : space.setting(id)) key += std::to_string(value) + ' ';
  }
  Entry& entry = entries_[key];
  entry.used = ++clock_;
  if (entry.prior == nullptr) entry.prior = std::make_shared<StructuralPrior>(space, mode, /*seed=*/1);
  auto prior = entry.prior;
  if (entries_.size() > kPriorsMax) {
    entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                    [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  return prior;
}

}  // namespace attune::tuner
