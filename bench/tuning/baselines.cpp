// Baselines, each as well as its idea permits: they see seconds per update, and never go back to a setting that
// crashed.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/check.h"
#include "base/random.h"
#include "bench/tuning/policy.h"
#include "operator/tuner/models/normal.h"
#include "operator/tuner/models/throughput_model.h"

namespace attune::bench {
namespace {

using tuner::Decision;
using tuner::DecisionKind;
using tuner::Report;
using tuner::Setting;

// Common memory: mean log seconds per update of every setting, what crashed.
class Measuring : public Policy {
 public:
  explicit Measuring(const JobModel& job) : job_(job), random_(job.seed * 31 + 5) {
    for (const Point& p : job.settings) settings_.push_back(job.ToSetting(p));
  }
  void Absorb(const Report& report) override {
    if (!report.ok) {
      crashed_.insert(report.setting);
      return;
    }
    if (report.during_change || report.steps <= 0) return;
    auto& [sum, seconds] = measured_[report.setting];
    sum += report.steps;
    seconds += report.seconds;
    Measured(report);
  }

 protected:
  virtual void Measured(const Report&) {}
  double LogSeconds(const Setting& s) const {
    const auto found = measured_.find(s);
    return found == measured_.end() || crashed_.contains(s) ? std::numeric_limits<double>::infinity()
                                                            : std::log(found->second.second / found->second.first);
  }
  Setting Best(const Setting& otherwise) const {
    Setting best = otherwise;
    for (const auto& [setting, unused] : measured_) {
      if (LogSeconds(setting) < LogSeconds(best)) best = setting;
    }
    return best;
  }
  Setting RandomSetting() { return settings_[random_.Below(settings_.size())]; }
  bool Allowed(const Setting& s) const {
    return !crashed_.contains(s) && std::find(settings_.begin(), settings_.end(), s) != settings_.end();
  }
  Decision Stay(const Setting& s, double windows, bool trial) const {
    return {.setting = s,
            .seconds = windows * job_.window_seconds,
            .kind = trial ? DecisionKind::kTrial : DecisionKind::kKeep};
  }

  const JobModel& job_;
  Random random_;
  std::vector<Setting> settings_;
  std::map<Setting, std::pair<double, double>> measured_;
  std::set<Setting> crashed_;
};

class Expert final : public Measuring {
 public:
  using Measuring::Measuring;
  Decision Decide(double, const Setting&) override { return Stay(job_.ToSetting(job_.expert), 12, false); }
};

class RandomThenBest final : public Measuring {
 public:
  using Measuring::Measuring;
  Decision Decide(double, const Setting& current) override {
    if (tried_++ < 12) return Stay(RandomSetting(), 1, true);
    return Stay(Best(current), 12, false);
  }

 private:
  int tried_ = 0;
};

class Halving final : public Measuring {
 public:
  using Measuring::Measuring;
  Decision Decide(double, const Setting& current) override {
    if (round_.empty() && length_ == 0) {
      for (int i = 0; i < 16; ++i) round_.push_back(RandomSetting());
      length_ = 1;
    }
    if (at_ < round_.size()) return Stay(round_[at_++], length_, true);
    if (round_.size() > 1) {
      std::sort(round_.begin(), round_.end(),
                [&](const Setting& a, const Setting& b) { return LogSeconds(a) < LogSeconds(b); });
      round_.resize(round_.size() / 2);
      length_ *= 2;
      at_ = 0;
      if (round_.size() > 1) return Stay(round_[at_++], length_, true);
    }
    return Stay(Best(current), 12, false);
  }

 private:
  std::vector<Setting> round_;
  size_t at_ = 0;
  double length_ = 0;
};

// Doubles or halves one knob, later one step; keeps what is 2 % faster; two windows for each side of a comparison.
class HillClimbing final : public Measuring {
 public:
  using Measuring::Measuring;
  Decision Decide(double, const Setting& current) override {
    if (base_.empty()) {
      base_ = current;
      return Stay(base_, 1, true);
    }
    if (LogSeconds(trial_) < LogSeconds(base_) - 0.02) {
      base_ = trial_;
      move_ = 0;
      tried_.clear();
      tried_.insert(base_);
    }
    trial_ = base_;
    while (move_ < 12) {
      const int move = move_++;
      Setting next = base_;
      int& knob = next[static_cast<size_t>(move % 3)];
      switch (move / 3) {
        case 0:
          knob *= 2;
          break;
        case 1:
          knob = std::max(1, knob / 2);
          break;
        case 2:
          knob += 1;
          break;
        default:
          knob = std::max(1, knob - 1);
          break;
      }
      if (next == base_ || !Allowed(next) || !tried_.insert(next).second) continue;
      trial_ = next;
      return Stay(next, 1, true);
    }
    return Stay(base_, 12, false);
  }

 private:
  Setting base_, trial_;
  std::set<Setting> tried_;
  int move_ = 0;
};

// Expected improvement over a Matern process on log2 knobs; five random starts; stops when 1 % is not to be expected.
class GpEi final : public Measuring {
 public:
  GpEi(const JobModel& job, tuner::PriorCache& priors) : Measuring(job), log_(job.window_seconds) {
    auto space = tuner::SearchSpace::Create(Describe(job).space);
    ATTUNE_CHECK(space.ok());
    space_ = *std::move(space);
    model_ = std::make_unique<tuner::ThroughputModel>(priors.Get(*space_, job.mode),
                                                      tuner::ThroughputOptions{.structure = false, .drift = false});
  }
  Decision Decide(double now, const Setting& current) override {
    if (tried_++ < 5) return Stay(RandomSetting(), 1, true);
    const Setting best = Best(current);
    if (stopped_) return Stay(best, 12, false);
    const auto posterior = model_->Fit(log_, now, 1e9);
    const int incumbent = space_->Find(best).value_or(0);
    double most = 0.01;
    int chosen = -1;
    for (int id = 0; id < space_->size(); ++id) {
      if (crashed_.contains(space_->setting(id)) || measured_.contains(space_->setting(id))) continue;
      const double mean = posterior.mean(incumbent) - posterior.mean(id);
      const double ei = tuner::ExpectedSaving(mean, std::sqrt(posterior.DifferenceVariance(id, incumbent)));
      if (ei > most) {
        most = ei;
        chosen = id;
      }
    }
    if (chosen < 0) {
      stopped_ = true;
      return Stay(best, 12, false);
    }
    return Stay(space_->setting(chosen), 1, true);
  }

 private:
  void Measured(const Report& report) override {
    if (const auto id = space_->Find(report.setting))
      log_.Absorb({.setting = *id, .time = report.time, .seconds = report.seconds, .updates = report.steps});
  }
  std::optional<tuner::SearchSpace> space_;
  std::unique_ptr<tuner::ThroughputModel> model_;
  tuner::BlockLog log_;
  int tried_ = 0;
  bool stopped_ = false;
};

// Optimus: seconds per update by non-negative least squares on (1/w, 1/p, 1, p/w, 1/(w t)), then units are added one by
// one where they gain most, until a unit gains nothing; fitted again every ten windows.
class MarginalGain final : public Measuring {
 public:
  using Measuring::Measuring;
  Decision Decide(double, const Setting& current) override {
    if (tried_++ < 8) return Stay(RandomSetting(), 1, true);
    const Setting target = Greedy();
    return Stay(Allowed(target) ? target : current, 10, false);
  }

 private:
  static Eigen::VectorXd Features(const Setting& s) {
    const double p = s[0], w = s[1], t = s[2];
    return Eigen::VectorXd{{1 / w, 1 / p, 1, p / w, 1 / (w * t)}};
  }
  // Lawson and Hanson would be exact; coordinate descent on five coefficients converges as well.
  Eigen::VectorXd Fit() const {
    const auto n = static_cast<Eigen::Index>(measured_.size());
    Eigen::MatrixXd a(n, 5);
    Eigen::VectorXd ones = Eigen::VectorXd::Ones(n);
    Eigen::Index row = 0;
    for (const auto& [setting, unused] : measured_)
      a.row(row++) = Features(setting).transpose() / std::exp(LogSeconds(setting));
    Eigen::VectorXd x = Eigen::VectorXd::Zero(5);
    for (int i = 0; i < 400; ++i) {
      for (Eigen::Index k = 0; k < 5; ++k) {
        const Eigen::VectorXd rest = ones - a * x + a.col(k) * x(k);
        x(k) = std::max(0.0, a.col(k).dot(rest) / std::max(a.col(k).squaredNorm(), 1e-12));
      }
    }
    return x;
  }
  Setting Greedy() const {
    if (measured_.size() < 5) return Best({1, 1, 1});
    const Eigen::VectorXd x = Fit();
    const auto seconds = [&](const Setting& s) { return x.dot(Features(s)); };
    Setting at = settings_.front();
    while (true) {
      Setting best = at;
      for (size_t k = 0; k < 3; ++k) {
        Setting next = at;
        ++next[k];
        if (Allowed(next) && seconds(next) < seconds(best) * 0.995) best = next;
      }
      if (best == at) return at;
      at = best;
    }
  }
  int tried_ = 0;
};

// The published self-tuning algorithm: ten Latin hypercube settings, then after every window a Gaussian process over
// (setting, loss) of estimated remaining time H/e ln(d/e), H per segment; expected improvement against the last row.
// `mended`: log of the estimate with the loss smoothed, small noise, the best row as incumbent, no move below 1 %.
class Published final : public Measuring {
 public:
  Published(const JobModel& job, bool mended) : Measuring(job), mended_(mended) {
    std::array<std::vector<int>, 3> columns;
    const std::array<int, 3> most = {kServersMax, kWorkersMax, kThreadsMax};
    for (size_t k = 0; k < 3; ++k) {
      for (int i = 0; i < 10; ++i)
        columns[k].push_back(std::clamp(static_cast<int>(1 + (i + 0.5) / 10 * most[k]), 1, most[k]));
      for (size_t i = 9; i > 0; --i) std::swap(columns[k][i], columns[k][random_.Below(i + 1)]);
    }
    for (size_t i = 0; i < 10; ++i) {
      const Setting wanted = {columns[0][i], columns[1][i], columns[2][i]};
      design_.push_back(*std::min_element(settings_.begin(), settings_.end(), [&](const Setting& a, const Setting& b) {
        return Distance(a, wanted) < Distance(b, wanted);
      }));
    }
  }
  Decision Decide(double, const Setting& current) override {
    if (at_ < design_.size()) return Stay(design_[at_++], 1, true);
    if (rows_.size() < 3) return Stay(current, 1, false);
    const Setting next = Suggest(current);
    return Stay(crashed_.contains(next) ? current : next, 1, next != current);
  }

 private:
  struct Row {
    Setting setting;
    double loss = 0, y = 0;
  };
  static double Distance(const Setting& a, const Setting& b) {
    return std::abs(a[0] - b[0]) / 8.0 + std::abs(a[1] - b[1]) / 16.0 + std::abs(a[2] - b[2]) / 4.0;
  }
  void Measured(const Report& report) override {
    if (!report.loss_mean) return;
    loss_ = loss_ <= 0 || !mended_ ? *report.loss_mean : 0.8 * loss_ + 0.2 * *report.loss_mean;
    if (!rows_.empty() && rows_.back().setting == report.setting) {
      steps_ += report.steps;
    } else {
      first_ = previous_ > 0 ? previous_ : loss_;
      steps_ = report.steps;
      rows_.push_back({report.setting, 0, 0});
    }
    // H from one segment's fall; remaining steps H/e ln(d/e).
    const double d = std::max(first_, loss_), u = std::log(d / loss_) / loss_;
    const double h = u > 1e-9 ? steps_ / u : 1e9;
    const double e = job_.target;
    const double remaining = h / e * std::log(std::max(d / e, 1.0001)) * report.seconds / std::max(report.steps, 1e-9);
    rows_.back().loss = loss_;
    rows_.back().y = mended_ ? std::log(report.seconds / std::max(report.steps, 1e-9)) : std::min(remaining, 1e7);
    previous_ = loss_;
    if (rows_.size() > 60) rows_.erase(rows_.begin());
  }
  double Kernel(const Setting& a, double la, const Setting& b, double lb) const {
    double square = (mended_ ? 0 : (la - lb) * (la - lb));
    const std::array<double, 3> range = {7, 15, 3};
    for (size_t k = 0; k < 3; ++k) square += std::pow((a[k] - b[k]) / range[k], 2);
    return std::exp(-std::sqrt(square));
  }
  Setting Suggest(const Setting& current) {
    const auto n = static_cast<Eigen::Index>(rows_.size());
    Eigen::VectorXd y(n);
    for (Eigen::Index i = 0; i < n; ++i) y(i) = rows_[static_cast<size_t>(i)].y;
    const double mean = y.mean(), deviation = std::sqrt((y.array() - mean).square().mean()) + 1e-12;
    y = (y.array() - mean) / deviation;
    Eigen::MatrixXd k(n, n);
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < n; ++j) {
        const Row &a = rows_[static_cast<size_t>(i)], &b = rows_[static_cast<size_t>(j)];
        k(i, j) = Kernel(a.setting, a.loss, b.setting, b.loss) + (i == j ? (mended_ ? 0.05 : 1.0) : 0);
      }
    }
    const Eigen::LLT<Eigen::MatrixXd> factor(k);
    const Eigen::VectorXd weights = factor.solve(y);
    const double reference = mended_ ? y.minCoeff() : y(n - 1);
    Setting best = current;
    double most = mended_ ? 0.01 / deviation : 0;
    for (const Setting& s : settings_) {
      if (crashed_.contains(s)) continue;
      Eigen::VectorXd cross(n);
      for (Eigen::Index i = 0; i < n; ++i) {
        const Row& row = rows_[static_cast<size_t>(i)];
        cross(i) = Kernel(s, loss_, row.setting, row.loss);
      }
      const double mu = cross.dot(weights), sigma = std::sqrt(std::max(1e-9, 1 - cross.dot(factor.solve(cross))));
      const double z = (reference - mu) / sigma;
      const double ei = sigma * (z * tuner::NormalCdf(z) + std::exp(-z * z / 2) / std::sqrt(2 * M_PI));
      if (ei > most) {
        most = ei;
        best = s;
      }
    }
    if (mended_ && best == current) return Best(current);
    return best;
  }

  bool mended_;
  std::vector<Setting> design_;
  std::vector<Row> rows_;
  size_t at_ = 0;
  double loss_ = 0, first_ = 0, previous_ = 0, steps_ = 0;
};

}  // namespace

std::unique_ptr<Policy> MakeBaseline(const std::string& name, const JobModel& job, tuner::PriorCache& priors) {
  if (name == "expert") return std::make_unique<Expert>(job);
  if (name == "random12") return std::make_unique<RandomThenBest>(job);
  if (name == "hill-climbing") return std::make_unique<HillClimbing>(job);
  if (name == "halving") return std::make_unique<Halving>(job);
  if (name == "gp-ei") return std::make_unique<GpEi>(job, priors);
  if (name == "marginal-gain") return std::make_unique<MarginalGain>(job);
  if (name == "published") return std::make_unique<Published>(job, false);
  if (name == "published-mended") return std::make_unique<Published>(job, true);
  return nullptr;
}

}  // namespace attune::bench
