// A training program for tests: "trains" by adding one to the row of every item it is handed, so that rows count
// pushes.
//   counting_worker ITEMS PAUSE_MILLISECONDS [localize]     (environment as in proto/contract.h)
// With "localize" it fetches the rows around its items, those of other workers too, so that they go to and fro.
// Prints "lease BEGIN END" when it takes a lease and "left" at the end. In a job with an operator one worker ends by
// reporting how often the items were counted (metrics counts_min, counts_max).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include "attune/ps/session.h"
#include "proto/contract.h"

namespace attune::ps {
namespace {

constexpr uint64_t kBatch = 10;
constexpr uint64_t kWindow = 500;  // rows fetched at a time: more than a lease

// Asks for the rows around `item`; waits for those asked for some time ago.
Status Fetch(const Table& counts, uint64_t item, uint64_t items, std::deque<LocalizeFuture>& fetched) {
  std::vector<Key> keys(std::min(kWindow, items));
  std::iota(keys.begin(), keys.end(), std::min(item - item % kWindow, items - keys.size()));
  fetched.push_back(counts.Localize(keys));
  if (fetched.size() < 4) return OkStatus();
  RETURN_IF_ERROR(fetched.front().Wait());
  fetched.pop_front();
  return OkStatus();
}

Status Verify(Session& session, const Table& counts, uint64_t items) {
  for ([[maybe_unused]] const DataLease& lease : session.DataLeases("verify", {.items = 1, .epochs = 1})) {
    std::vector<Key> keys(items);
    std::iota(keys.begin(), keys.end(), 0);
    std::vector<float> values(items);
    RETURN_IF_ERROR(counts.Pull(keys, values));
    const auto [min, max] = std::ranges::minmax(values);
    FinalResult result;
    result.metrics = {{"counts_min", min}, {"counts_max", max}};
    RETURN_IF_ERROR(session.Finish(result));
  }
  return session.status();
}

Status Train(uint64_t items, std::chrono::milliseconds pause, bool localizes) {
  ASSIGN_OR_RETURN(SessionOptions options, SessionOptions::FromEnvironment());
  options.connect_timeout = std::chrono::seconds(20);
  // Longer than the liveness lease: rows of a killed worker come when that has ended.
  options.call_timeout = std::chrono::seconds(30);
  ASSIGN_OR_RETURN(const auto session, Session::Connect(options));
  ASSIGN_OR_RETURN(const Table counts, session->OpenTable("counts", {.dim = 1, .optimizer = Sgd{.rate = 1.0F}}));
  std::deque<LocalizeFuture> fetched;
  for (const DataLease& lease : session->DataLeases("train", {.items = items, .lease_items = 100})) {
    std::printf("lease %lu %lu\n", static_cast<unsigned long>(lease.begin()), static_cast<unsigned long>(lease.end()));
    std::fflush(stdout);
    for (uint64_t at = lease.begin(); at < lease.end() && !session->draining(); at += kBatch) {
      std::vector<Key> keys(std::min(kBatch, lease.end() - at));
      std::iota(keys.begin(), keys.end(), at);
      if (localizes) RETURN_IF_ERROR(Fetch(counts, at, items, fetched));
      counts.PushAsync(keys, std::vector<float>(keys.size(), -1.0F));
      lease.Advance(at + keys.size());
      RETURN_IF_ERROR(session->Step({.loss = 1.0, .samples = keys.size()}));
      std::this_thread::sleep_for(pause);
    }
    if (session->draining()) break;
  }
  RETURN_IF_ERROR(session->status());
  RETURN_IF_ERROR(session->Flush());
  return session->draining() || std::getenv(contract::kEnvSidecarSocket) == nullptr ? OkStatus()
                                                                                    : Verify(*session, counts, items);
}

}  // namespace
}  // namespace attune::ps

int main(int argc, char** argv) {
  const uint64_t items = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  const long pause = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 0;
  const bool localizes = argc > 3 && std::string_view(argv[3]) == "localize";
  const attune::Status status = attune::ps::Train(items, std::chrono::milliseconds(pause), localizes);
  if (!status.ok()) std::fprintf(stderr, "%s\n", attune::ToString(status).c_str());
  std::puts(status.ok() ? "left" : "failed");
  return status.ok() ? 0 : 1;
}
