#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/explanation.h"
#include "cli/display/object_text.h"
#include "cli/failure.h"
#include "cli/runs/jobs.h"

namespace attune::cli {

int Explain(const ExplainArguments& arguments, const Target& target) {
  auto connection = ConnectToJob(target, arguments.job, Purpose::kLook);
  if (!connection.ok()) return Fail(connection.status());
  const auto object = GetJob(*connection->api, connection->key);
  if (!object.ok()) return Fail(object.status());
  const api::TrainingJob job = api::ParseTrainingJob(*object).job;
  const auto saved = GetTuningState(*connection->api, job);
  if (!saved.ok()) return Fail(saved.status());
  const auto explanation = Explain(job, *saved, arguments.model);
  if (!explanation.ok()) return Fail(explanation.status());
  const std::string text = arguments.json ? JsonText(explanation->json) : explanation->text;
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

}  // namespace attune::cli
