// Rows that are there before they are asked for: items are prepared some steps ahead, and what they touch is announced.
// "Trains" on numbers: row k counts how many of them end in the digits k.
//   ahead [NUMBERS]    50,000 unless given; a multiple of 100
#include <attune/ps/look_ahead.h>
#include <attune/ps/session.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

using namespace attune;

constexpr uint64_t kBatch = 100, kRows = 1000;

struct Batch {
  std::vector<ps::Key> keys;
};

Batch Prepare(const ps::PlannedItem& planned) {
  Batch batch;
  for (uint64_t i = 0; i < kBatch; ++i) batch.keys.push_back((planned.item * kBatch + i) % kRows);
  return batch;
}

Status Run(uint64_t numbers) {
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const auto session, ps::Session::Connect(options));
  ASSIGN_OR_RETURN(const ps::Table table, session->OpenTable("counts", {.dim = 1, .optimizer = ps::Sgd{.rate = 1.0F}}));
  session->SetSampleUnit("numbers");
  std::vector<float> rows(kBatch);
  ps::LookAhead<Batch> ahead(*session, "numbers", {.items = numbers / kBatch}, Prepare,
                             [&](const Batch& batch, ps::Touch& touch) { touch(table, batch.keys); });
  for (auto& [lease, item, batch] : ahead) {
    RETURN_IF_ERROR(table.Pull(batch.keys, rows));
    const double mean = std::accumulate(rows.begin(), rows.end(), 0.0) / kBatch;
    table.PushAsync(batch.keys, std::vector<float>(kBatch, -1.0F));  // SGD subtracts
    lease.Advance(item + 1);
    RETURN_IF_ERROR(session->Step({.loss = 1 / (1 + mean), .samples = kBatch}));
  }
  RETURN_IF_ERROR(session->Flush());  // a push that failed says so here
  for ([[maybe_unused]] const ps::DataLease& lease : session->DataLeases("check", {.items = 1, .epochs = 1})) {
    std::vector<ps::Key> keys(kRows);
    std::iota(keys.begin(), keys.end(), 0);
    std::vector<float> counts(kRows);
    RETURN_IF_ERROR(table.Pull(keys, counts));
    const double counted = std::accumulate(counts.begin(), counts.end(), 0.0);
    RETURN_IF_ERROR(session->Finish({.metrics = {{"counted", counted}}}));
  }
  return session->status();
}

}  // namespace

int main(int argc, char** argv) {
  const Status status = Run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 50'000);
  if (status.ok()) return 0;
  std::fprintf(stderr, "ahead: %s\n", ToString(status).c_str());
  return 1;
}
