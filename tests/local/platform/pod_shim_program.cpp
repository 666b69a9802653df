// pod_shim_program pod-shim ...            a pod shim
// pod_shim_program run-platform DIRECTORY  a platform with one stubborn pod, until it is killed; prints its API's
// address and token
#include <poll.h>

#include <cstdio>
#include <string_view>

#include "operator/local/containers/pod_shim.h"
#include "operator/local/platform.h"

namespace {

using attune::kube::Json;

int RunPlatform(const char* self, const char* directory) {
  static const attune::SystemTime time;
  auto platform =
      attune::local::Platform::Start({.run_directory = directory, .shim_command = {self, "pod-shim"}}, time);
  if (!platform.ok()) {
    std::fprintf(stderr, "%s\n", attune::ToString(platform.status()).c_str());
    return 1;
  }
  // Ignores TERM, forks a child that leaves its session, and writes both ids where the test finds them.
  const Json script = Json::array({"sh", "-c",
                                   "trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' & "
                                   "echo started; while :; do sleep 0.1; done"});
  const Json pod{{"metadata", {{"name", "stubborn"}, {"namespace", "default"}}},
                 {"spec", {{"containers", Json::array({{{"name", "main"}, {"command", script}}})}}}};
  if (!(*platform)->api().Create(attune::kube::kPods, pod).ok()) return 1;
  std::printf("%s %s\n", (*platform)->url().c_str(), (*platform)->token().c_str());
  std::fflush(stdout);
  poll(nullptr, 0, 120'000);  // the test kills this process long before
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == "run-platform") return RunPlatform(argv[0], argv[2]);
  return attune::local::PodShimMain(argc, argv);
}
