// The conformance suite of kube::Api against the embedded API: in process, and through HTTP with the real client.
#include <mutex>

#include "operator/kube/client/rest_api.h"
#include "operator/local/api/memory_api.h"
#include "operator/local/rest/api_server.h"
#include "tests/operator/kube/api_conformance.h"

namespace attune::kube::conformance_test {
namespace {

const SystemTime kTime;
constexpr char kToken[] = "conformance";

local::MemoryApiOptions QuickBookmarks() { return {.bookmark_interval = std::chrono::seconds(1)}; }

struct Served {
  local::MemoryApi api{kTime, QuickBookmarks()};
  std::unique_ptr<local::ApiServer> server =
      local::ApiServer::Start({.token = kToken, .kinds = api.kinds()}, api).value();
};

Served& Shared() {
  static Served* served = new Served;  // for the whole program: clients of all tests speak to it
  return *served;
}

StatusOr<std::unique_ptr<Api>> InProcess() { return std::make_unique<local::MemoryApi>(kTime, QuickBookmarks()); }

StatusOr<std::unique_ptr<Api>> OverHttp() {
  InitializeHttp();
  ClientConfig config;
  config.server = Shared().server->url();
  config.token = kToken;
  return MakeRestApi(config);
}

std::string Expired(local::MemoryApi& api) {
  api.ExpireHistory();
  return "2";
}

INSTANTIATE_TEST_SUITE_P(Memory, ApiConformance,
                         ::testing::Values(ConformanceTarget{
                             .name = "InProcess",
                             .make = InProcess,
                             .expired_version =
                                 [](Api& api) { return Expired(dynamic_cast<local::MemoryApi&>(api)); }}),
                         TargetName);
INSTANTIATE_TEST_SUITE_P(
    Http, ApiConformance,
    ::testing::Values(ConformanceTarget{
        .name = "OverHttp", .make = OverHttp, .expired_version = [](Api&) { return Expired(Shared().api); }}),
    TargetName);

}  // namespace
}  // namespace attune::kube::conformance_test
