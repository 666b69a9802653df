#include <cstdio>

#include "cli/application.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/jobs.h"
#include "cli/tune_request.h"

namespace attune::cli {

int Tune(const TuneArguments& arguments, const Target& target) {
  // `pin servers=2 JOB` and `pause JOB`: the job stands last.
  const bool pins = arguments.words.size() > 1;
  const std::string& name = arguments.words.back();
  auto connection = Connect(target);
  if (!connection.ok()) return Fail(connection.status());
  const kube::ObjectKey key{connection->name_space, name};
  const auto object = GetJob(*connection->api, key);
  if (!object.ok()) return Fail(object.status());
  const auto request = MakeTuneRequest(api::ParseTrainingJob(*object).job, arguments.action,
                                       pins ? arguments.words.front() : std::string());
  if (!request.ok()) return Fail(request.status());
  const Status patched =
      connection->api->Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, request->patch).status();
  if (!patched.ok()) return Fail(Annotate(patched, "changing " + key.ToString()));
  std::printf("%s: %s\n", name.c_str(), request->told.c_str());
  return kExitOk;
}

}  // namespace attune::cli
