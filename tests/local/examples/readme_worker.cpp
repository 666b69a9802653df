// README's "A worker", as it stands there, in a program whose gradients count examples: the only row ends as their
// number.
#include <attune/ps/session.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using namespace attune;

constexpr uint32_t kDim = 1;
constexpr uint64_t kExamples = 1'000'000, kBatch = 10;

double AddGradient(uint64_t, const std::vector<float>&, std::vector<float>& gradient) {
  gradient[0] -= 1;  // SGD subtracts
  return 0;
}

Status Train(ps::Session& session, const ps::Table& table) {
  const std::vector<ps::Key> keys = {0};
  std::vector<float> weights(kDim), gradient(kDim);
#include "tests/local/examples/readme_worker_snippet.h"
  RETURN_IF_ERROR(session.status());
  return session.Flush();
}

Status Count(ps::Session& session, const ps::Table& table) {
  for ([[maybe_unused]] const ps::DataLease& lease : session.DataLeases("count", {.items = 1, .epochs = 1})) {
    std::vector<float> counted(kDim);
    RETURN_IF_ERROR(table.Pull(std::vector<ps::Key>{0}, counted));
    RETURN_IF_ERROR(session.Finish({.metrics = {{"counted", counted[0]}}}));
  }
  return session.status();
}

Status Run() {
  ASSIGN_OR_RETURN(const ps::SessionOptions options, ps::SessionOptions::FromEnvironment());
  ASSIGN_OR_RETURN(const auto session, ps::Session::Connect(options));
  ASSIGN_OR_RETURN(const ps::Table table,
                   session->OpenTable("counts", {.dim = kDim, .optimizer = ps::Sgd{.rate = 1.0F}}));
  RETURN_IF_ERROR(Train(*session, table));
  return session->draining() ? OkStatus() : Count(*session, table);
}

}  // namespace

int main() {
  const Status status = Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "readme_worker: %s\n", ToString(status).c_str());
  return 1;
}
