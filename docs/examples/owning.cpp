// Rows that a worker fetches to itself. Each user has a row that is read and changed many times, but only by the worker
// whose lease the user is in. "Trains" by counting: a user's row ends at the number of its visits.
#include <attune/ps/session.h>

#include <cstdio>
#include <numeric>
#include <vector>

namespace {

using namespace attune;

constexpr uint64_t kUsers = 2000, kVisits = 25;

Status TrainOnLease(ps::Session& session, const ps::Table& users, const ps::DataLease& lease) {
  std::vector<ps::Key> keys(lease.end() - lease.begin());
  std::iota(keys.begin(), keys.end(), lease.begin());
  const ps::LocalizeFuture fetched = users.Localize(keys);
  // Whatever can be done meanwhile goes here: reading the data of the lease, for example.
  if (const Status status = fetched.Wait(); !status.ok()) {
    std::fprintf(stderr, "owning: %lu rows have come: %s\n", static_cast<unsigned long>(fetched.result().moved),
                 ToString(status).c_str());  // the others are used where they are
  }
  for (const ps::Key user : keys) {
    if (session.draining()) break;
    float visits = 0;
    for (uint64_t visit = 0; visit < kVisits; ++visit) {
      RETURN_IF_ERROR(users.Pull({&user, 1}, {&visits, 1}));
      const float gradient = -1.0F;  // SGD subtracts
      RETURN_IF_ERROR(users.Push({&user, 1}, {&gradient, 1}));
    }
    lease.Advance(user + 1);
    RETURN_IF_ERROR(session.Step({.loss = 1 / (1 + visits), .samples = kVisits}));
  }
  return OkStatus();
}

Status Run() {
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const auto session, ps::Session::Connect(options));
  ASSIGN_OR_RETURN(const ps::Table users, session->OpenTable("users", {.dim = 1, .optimizer = ps::Sgd{.rate = 1.0F}}));
  session->SetSampleUnit("visits");
  for (const ps::DataLease& lease : session->DataLeases("users", {.items = kUsers})) {
    RETURN_IF_ERROR(TrainOnLease(*session, users, lease));
  }
  for ([[maybe_unused]] const ps::DataLease& lease : session->DataLeases("check", {.items = 1, .epochs = 1})) {
    std::vector<ps::Key> keys(kUsers);
    std::iota(keys.begin(), keys.end(), 0);
    std::vector<float> visits(kUsers);
    RETURN_IF_ERROR(users.Pull(keys, visits));
    RETURN_IF_ERROR(session->Finish({.metrics = {{"visits", std::accumulate(visits.begin(), visits.end(), 0.0)}}}));
  }
  return session->status();
}

}  // namespace

int main() {
  const Status status = Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "owning: %s\n", ToString(status).c_str());
  return 1;
}
