// Click-through prediction, made up so that the truth is known: samples have one value of each of 39 features, by
// Zipf's law out of 100 million keys, and are clicked with a probability that a planted model gives. A factorization
// machine is trained on them (Rendle 2010): weights by FTRL-proximal, vectors of 8 by Adagrad. At the end the area
// under the ROC curve of samples that were not trained on, beside that of the planted model, which none can exceed by
// much.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attune/ps/look_ahead.h"
#include "attune/ps/session.h"
#include "base/random.h"
#include "bench/adaptive/measured_worker.h"
#include "bench/adaptive/step_times.h"
#include "ps/sampling/key_distribution.h"

namespace attune::adaptive_bench {
namespace {

constexpr uint32_t kFeatures = 39, kDim = 8;
constexpr uint64_t kValuesOfFeature = 100'000'000 / kFeatures;
constexpr double kExponent = 1.1;
constexpr uint64_t kHeldOut = uint64_t{1} << 40;  // numbers of samples that are not trained on begin here

struct Flags : WorkerFlags {
  uint32_t samples = 64;  // per step
  uint32_t judged = 20'000;
};

// --- samples

// Nearly of a normal distribution, always the same for a key.
double Planted(uint64_t key, uint64_t of) {
  Random random(SplitMix64(key * 8191 + of));
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += random.Uniform();
  return sum - 6;
}

// As a logit: a weight of every value, and how well the values of each two neighboring features fit.
double PlantedLogit(std::span<const ps::Key> keys) {
  double logit = -1;
  for (uint32_t i = 0; i < kFeatures; ++i) logit += 0.3 * Planted(keys[i], 0);
  for (uint32_t i = 0; i + 1 < kFeatures; i += 2) logit += 0.3 * Planted(keys[i], 1) * Planted(keys[i + 1], 1);
  return logit;
}

double Probability(double logit) { return 1 / (1 + std::exp(-logit)); }

struct Batch {
  std::vector<ps::Key> keys;     // each once
  std::vector<uint32_t> places;  // in these, of every feature of every sample
  std::vector<float> clicked;
  std::vector<double> planted;  // logits
};

// Samples by their numbers alone, so that all variants train on the same.
Batch Draw(const ps::KeyDistribution& values, uint64_t first, uint32_t count) {
  Batch batch;
  std::vector<ps::Key> keys;
  for (uint64_t sample = first; sample < first + count; ++sample) {
    Random random(SplitMix64(sample));
    for (uint64_t feature = 0; feature < kFeatures; ++feature) {
      keys.push_back(feature * kValuesOfFeature + values.Draw(random));
    }
    batch.planted.push_back(PlantedLogit(std::span(keys).last(kFeatures)));
    batch.clicked.push_back(random.Chance(Probability(batch.planted.back())) ? 1.0F : 0.0F);
  }
  batch.keys = keys;
  std::ranges::sort(batch.keys);
  batch.keys.erase(std::ranges::unique(batch.keys).begin(), batch.keys.end());
  for (const ps::Key key : keys) {
    batch.places.push_back(static_cast<uint32_t>(std::ranges::lower_bound(batch.keys, key) - batch.keys.begin()));
  }
  return batch;
}

// --- the model

struct Rows {
  std::vector<float> weights, vectors;
  void Resize(size_t rows) {
    weights.assign(rows, 0);
    vectors.assign(rows * kDim, 0);
  }
};

// Of one sample; `sums`: of its vectors.
double Logit(std::span<const uint32_t> places, const Rows& rows, std::span<float> sums) {
  std::ranges::fill(sums, 0.0F);
  double logit = -1, squares = 0;
  for (const uint32_t place : places) {
    logit += rows.weights[place];
    for (uint32_t d = 0; d < kDim; ++d) {
      const float value = rows.vectors[place * kDim + d];
      sums[d] += value;
      squares += static_cast<double>(value) * value;
    }
  }
  double square_of_sums = 0;
  for (const float sum : sums) square_of_sums += static_cast<double>(sum) * sum;
  return logit + 0.5 * (square_of_sums - squares);
}

std::span<const uint32_t> PlacesOf(const Batch& batch, size_t sample) {
  return std::span(batch.places).subspan(sample * kFeatures, kFeatures);
}

// The mean logarithmic loss; `gradients` becomes the derivative of the sum.
double LossAndGradients(const Batch& batch, const Rows& rows, Rows& gradients) {
  gradients.Resize(batch.keys.size());
  std::vector<float> sums(kDim);
  double loss = 0;
  for (size_t sample = 0; sample < batch.clicked.size(); ++sample) {
    const double p = Probability(Logit(PlacesOf(batch, sample), rows, sums));
    const bool clicked = batch.clicked[sample] > 0.5F;
    loss -= std::log(std::max(clicked ? p : 1 - p, 1e-9));
    const auto error = static_cast<float>(p) - batch.clicked[sample];
    for (const uint32_t place : PlacesOf(batch, sample)) {
      gradients.weights[place] += error;
      for (uint32_t d = 0; d < kDim; ++d) {
        const size_t at = size_t{place} * kDim + d;
        gradients.vectors[at] += error * (sums[d] - rows.vectors[at]);
      }
    }
  }
  return loss / static_cast<double>(batch.clicked.size());
}

// The area under the ROC curve: how likely a clicked sample has a higher score than one that was not.
double Auc(std::span<const double> scores, std::span<const float> clicked) {
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](uint32_t i) { return scores[i]; });
  double below = 0, pairs = 0, positives = 0;
  for (const uint32_t i : order) {
    if (clicked[i] > 0.5F) {
      pairs += below;
      ++positives;
    } else {
      ++below;
    }
  }
  return positives == 0 || below == 0 ? 0.5 : pairs / (positives * below);
}

// --- the worker

struct Model {
  ps::Table weights, vectors;
  Status Pull(const Batch& batch, Rows& rows) const {
    rows.Resize(batch.keys.size());
    const ps::Future first = weights.PullAsync(batch.keys, rows.weights);
    const ps::Future second = vectors.PullAsync(batch.keys, rows.vectors);
    RETURN_IF_ERROR(first.Wait());
    return second.Wait();
  }
};

Status Train(const Flags& flags, const ps::KeyDistribution& values, ps::Session& session, const Model& model,
             StepTimes& times) {
  ps::LookAhead<Batch> ahead(
      session, "train", {.items = flags.steps},
      [&](const ps::PlannedItem& planned) { return Draw(values, planned.item * flags.samples, flags.samples); },
      [&](const Batch& batch, ps::Touch& touch) {
        if (!flags.announce) return;
        touch(model.weights, batch.keys);
        touch(model.vectors, batch.keys);
      });
  Rows rows, gradients;
  for (auto& [lease, item, batch] : ahead) {
    times.Begin();
    RETURN_IF_ERROR(model.Pull(batch, rows));
    times.Think();
    const double loss = LossAndGradients(batch, rows, gradients);
    times.Access();
    model.weights.PushAsync(batch.keys, gradients.weights);
    model.vectors.PushAsync(batch.keys, gradients.vectors);
    lease.Advance(item + 1);
    RETURN_IF_ERROR(session.Step({.loss = loss, .samples = flags.samples}));
    times.End();
  }
  return session.Flush();
}

Status Judge(const Flags& flags, const ps::KeyDistribution& values, ps::Session& session, const Model& model) {
  for ([[maybe_unused]] const ps::DataLease& lease : session.DataLeases("judge", {.items = 1, .epochs = 1})) {
    std::vector<double> scores, planted;
    std::vector<float> clicked, sums(kDim);
    double loss = 0;
    Rows rows, unused;
    for (uint64_t first = 0; first < flags.judged; first += flags.samples) {
      const Batch batch = Draw(values, kHeldOut + first, flags.samples);
      RETURN_IF_ERROR(model.Pull(batch, rows));
      loss += LossAndGradients(batch, rows, unused) * flags.samples;
      for (size_t sample = 0; sample < flags.samples; ++sample) {
        scores.push_back(Logit(PlacesOf(batch, sample), rows, sums));
      }
      planted.insert(planted.end(), batch.planted.begin(), batch.planted.end());
      clicked.insert(clicked.end(), batch.clicked.begin(), batch.clicked.end());
    }
    RETURN_IF_ERROR(session.Finish({.metrics = {{"held_out_loss", loss / static_cast<double>(scores.size())},
                                                {"auc", Auc(scores, clicked)},
                                                {"auc_planted", Auc(planted, clicked)}}}));
  }
  return session.status();
}

Status Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const std::unique_ptr<ps::Session> session, ps::Session::Connect(options));
  ASSIGN_OR_RETURN(ps::Table weights, session->OpenTable("weights", {.dim = 1, .optimizer = ps::Ftrl{.alpha = 0.1F}}));
  ASSIGN_OR_RETURN(ps::Table vectors,
                   session->OpenTable("vectors", {.dim = kDim,
                                                  .optimizer = ps::Adagrad{.rate = 0.05F},
                                                  .initializer = ps::NormalInitializer{.standard_deviation = 0.1F}}));
  const Model model{.weights = std::move(weights), .vectors = std::move(vectors)};
  ASSIGN_OR_RETURN(const auto values,
                   ps::KeyDistribution::Create(ps::ZipfKeys{.keys = kValuesOfFeature, .exponent = kExponent}));
  session->SetSampleUnit("samples");
  StepTimes times(flags.skip_seconds);
  RETURN_IF_ERROR(Train(flags, *values, *session, model, times));
  times.Write(flags.out, options.index);
  return Judge(flags, *values, *session, model);
}

}  // namespace
}  // namespace attune::adaptive_bench

int main(int argc, char** argv) {
  attune::adaptive_bench::Flags flags;
  CLI::App app("Click-through prediction on made-up samples");
  app.add_option("--samples", flags.samples, "Samples per step")->capture_default_str()->check(CLI::Range(1, 10'000));
  app.add_option("--judged", flags.judged, "Samples that the model is judged by")->capture_default_str();
  return attune::adaptive_bench::RunMeasuredWorker(argc, argv, "attune-clicks", app, flags,
                                                   [&] { return attune::adaptive_bench::Run(flags); });
}
