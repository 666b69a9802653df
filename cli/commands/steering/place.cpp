#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/requests/place_request.h"
#include "cli/runs/jobs.h"

namespace attune::cli {
namespace {

PlaceRequest RequestOf(const PlaceArguments& arguments) {
  using api::ServerPlacement, api::WorkerPlacement;
  if (arguments.with_workers) return {.servers = ServerPlacement::kWithWorkers, .workers = std::nullopt};
  PlaceRequest request;
  if (arguments.only != "workers") request.servers = arguments.pack ? ServerPlacement::kPack : ServerPlacement::kSpread;
  if (arguments.only != "servers") request.workers = arguments.pack ? WorkerPlacement::kPack : WorkerPlacement::kSpread;
  return request;
}

}  // namespace

int Place(const PlaceArguments& arguments, const Target& target) {
  const auto connection = ConnectToJob(target, arguments.job, Purpose::kSteer);
  if (!connection.ok()) return Fail(connection.status());
  const kube::ObjectKey key = connection->key;
  const auto object = GetJob(*connection->api, key);
  if (!object.ok()) return Fail(object.status());
  const api::TrainingJob before = api::ParseTrainingJob(*object).job;
  if (const Status status = CheckPlacement(before); !status.ok()) return Fail(status);
  const PlaceRequest request = RequestOf(arguments);
  const auto patched =
      connection->api->Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, PlacementPatch(request));
  if (!patched.ok()) return Fail(Annotate(patched.status(), "placing the pods of " + key.ToString()));
  std::printf("%s: %s; pods that are elsewhere move one at a time (attune describe %s)\n", key.name.c_str(),
              PlacementChange(before.spec.placement, request).c_str(), key.name.c_str());
  return kExitOk;
}

}  // namespace attune::cli
