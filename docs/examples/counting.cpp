// Rows that travel while the worker computes: pulls the next batch's rows early and does not wait for its pushes.
// "Trains" on numbers: row k counts how many of them end in the digits k.
//   counting [NUMBERS]    50,000 unless given; a multiple of 100
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
  std::vector<float> rows;
  ps::Future pull;  // after the rows it writes to: dropped before them
};

void StartPull(const ps::Table& table, uint64_t number, Batch& batch) {
  batch.keys.clear();
  for (uint64_t i = 0; i < kBatch; ++i) batch.keys.push_back((number * kBatch + i) % kRows);
  batch.rows.resize(batch.keys.size());
  batch.pull = table.PullAsync(batch.keys, batch.rows);
}

Status TrainOnLease(ps::Session& session, const ps::Table& table, const ps::DataLease& lease) {
  Batch batches[2];
  StartPull(table, lease.begin(), batches[lease.begin() % 2]);
  for (uint64_t number = lease.begin(); number < lease.end() && !session.draining(); ++number) {
    const Batch& current = batches[number % 2];
    if (number + 1 < lease.end()) StartPull(table, number + 1, batches[(number + 1) % 2]);
    RETURN_IF_ERROR(current.pull.Wait());
    const double mean = std::accumulate(current.rows.begin(), current.rows.end(), 0.0) / kBatch;
    table.PushAsync(current.keys, std::vector<float>(kBatch, -1.0F));  // SGD subtracts
    lease.Advance(number + 1);
    RETURN_IF_ERROR(session.Step({.loss = 1 / (1 + mean), .samples = kBatch}));
  }
  return OkStatus();
}

Status Run(uint64_t numbers) {
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const auto session, ps::Session::Connect(options));
  ASSIGN_OR_RETURN(const ps::Table table, session->OpenTable("counts", {.dim = 1, .optimizer = ps::Sgd{.rate = 1.0F}}));
  session->SetSampleUnit("numbers");
  for (const ps::DataLease& lease : session->DataLeases("numbers", {.items = numbers / kBatch})) {
    RETURN_IF_ERROR(TrainOnLease(*session, table, lease));
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
  std::fprintf(stderr, "counting: %s\n", ToString(status).c_str());
  return 1;
}
