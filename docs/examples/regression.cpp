// A first worker: fits weights to examples whose answer is known, by mini-batches. One row holds all weights.
#include <attune/ps/session.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

using namespace attune;

constexpr uint32_t kDim = 8;
constexpr uint64_t kExamples = 20'000, kBatch = 50;
constexpr ps::Key kWeights = 0;  // of the only row

// Example i: its features and what they should give. The weight of feature d is d / 4.
float MakeExample(uint64_t i, std::vector<float>& features) {
  float answer = 0;
  for (uint32_t d = 0; d < kDim; ++d) {
    features[d] = static_cast<float>(std::sin(static_cast<double>(i * (d + 3))));
    answer += features[d] * static_cast<float>(d) / 4;
  }
  return answer;
}

// Adds the gradient of the squared error of one example; returns the error's square.
double AddGradient(uint64_t i, const std::vector<float>& weights, std::vector<float>& gradient) {
  std::vector<float> features(kDim);
  float error = -MakeExample(i, features);
  for (uint32_t d = 0; d < kDim; ++d) error += weights[d] * features[d];
  for (uint32_t d = 0; d < kDim; ++d) gradient[d] += 2 * error * features[d] / static_cast<float>(kBatch);
  return static_cast<double>(error) * error;
}

Status Train(ps::Session& session, const ps::Table& table) {
  const std::vector<ps::Key> keys = {kWeights};
  std::vector<float> weights(kDim), gradient(kDim);
  for (const ps::DataLease& lease : session.DataLeases("train", {.items = kExamples / kBatch})) {
    for (uint64_t batch = lease.begin(); batch < lease.end() && !session.draining(); ++batch) {
      RETURN_IF_ERROR(table.Pull(keys, weights));
      gradient.assign(kDim, 0);
      double loss = 0;
      for (uint64_t i = 0; i < kBatch; ++i) loss += AddGradient(batch * kBatch + i, weights, gradient);
      RETURN_IF_ERROR(table.Push(keys, gradient));
      lease.Advance(batch + 1);
      RETURN_IF_ERROR(session.Step({.loss = loss / kBatch, .samples = kBatch}));
    }
  }
  RETURN_IF_ERROR(session.status());
  return session.Flush();
}

// One worker is handed the only item of this data set, when training is over.
Status Evaluate(ps::Session& session, const ps::Table& table) {
  for ([[maybe_unused]] const ps::DataLease& lease : session.DataLeases("evaluate", {.items = 1, .epochs = 1})) {
    const std::vector<ps::Key> keys = {kWeights};
    std::vector<float> weights(kDim);
    RETURN_IF_ERROR(table.Pull(keys, weights));
    double worst = 0;
    for (uint32_t d = 0; d < kDim; ++d) worst = std::max(worst, std::fabs(weights[d] - static_cast<double>(d) / 4));
    RETURN_IF_ERROR(session.Finish({.metrics = {{"worst_weight_error", worst}}, .summary = "fitted 8 weights"}));
  }
  return session.status();
}

Status Run() {
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const auto session, ps::Session::Connect(options));
  ASSIGN_OR_RETURN(const ps::Table table,
                   session->OpenTable("weights", {.dim = kDim, .optimizer = ps::Adagrad{.rate = 0.5F}}));
  RETURN_IF_ERROR(Train(*session, table));
  return session->draining() ? OkStatus() : Evaluate(*session, table);
}

}  // namespace

int main() {
  const Status status = Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "regression: %s\n", ToString(status).c_str());
  return 1;
}
