#include <cstdio>
#include <utility>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/explanation.h"
#include "cli/display/job/row_text.h"
#include "cli/display/object_text.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/requests/row_trace_request.h"
#include "cli/runs/jobs.h"

namespace attune::cli {
namespace {

int ExplainRows(const kube::Json& object, const api::TrainingJob& job, bool json) {
  if (!job.status.rows) {
    return Fail(Error(StatusCode::kFailedPrecondition,
                      "job '" + job.name +
                          "' has said nothing of announced rows: its program announces none, or no "
                          "worker reports now; docs/rows.md says how a program announces rows"));
  }
  const api::RowPlaces& rows = *job.status.rows;
  std::string text = "Rows asked for: " + PlacesText(rows) + "\n";
  if (const std::string announced = AnnouncementsText(rows); !announced.empty()) {
    text += "Announced rows are " + announced + "\n";
  }
  text += TablesText(rows);
  std::fputs(json ? JsonText(kube::At(object, {"status", "rows"})).c_str() : text.c_str(), stdout);
  return kExitOk;
}

int ExplainRow(const ExplainArguments& arguments, const Target& target) {
  api::RowTraceRequest request{.id = {}, .seconds = static_cast<double>(arguments.seconds), .table = {}, .key = 0};
  if (const Status status = api::ParseRow(arguments.row, request.table, request.key); !status.ok()) return Fail(status);
  const auto connection = ConnectToJob(target, arguments.job, Purpose::kSteer);
  if (!connection.ok()) return Fail(connection.status());
  Interrupts::Install();
  if (!arguments.json) {
    std::fprintf(stderr, "row %s is looked at for %d s\n", arguments.row.c_str(), arguments.seconds);
  }
  const auto trace = TraceRow(*connection->api, connection->key, std::move(request));
  if (!trace.ok()) return Fail(trace.status());
  kube::Json pods = kube::Json::array();
  for (const api::PodRowTrace& pod : trace->pods) {
    pods.push_back({{"pod", pod.pod}, {"message", pod.message}, {"events", pod.events}});
  }
  const kube::Json object = {{"row", arguments.row}, {"message", trace->message}, {"pods", pods}};
  std::fputs(arguments.json ? JsonText(object).c_str() : RowTraceText(*trace).c_str(), stdout);
  return kExitOk;
}

}  // namespace

int Explain(const ExplainArguments& arguments, const Target& target) {
  if (!arguments.row.empty()) return ExplainRow(arguments, target);
  auto connection = ConnectToJob(target, arguments.job, Purpose::kLook);
  if (!connection.ok()) return Fail(connection.status());
  const auto object = GetJob(*connection->api, connection->key);
  if (!object.ok()) return Fail(object.status());
  const api::TrainingJob job = api::ParseTrainingJob(*object).job;
  if (arguments.rows) return ExplainRows(*object, job, arguments.json);
  const auto saved = GetTuningState(*connection->api, job);
  if (!saved.ok()) return Fail(saved.status());
  const auto explanation = Explain(job, *saved, arguments.model);
  if (!explanation.ok()) return Fail(explanation.status());
  const std::string text = arguments.json ? JsonText(explanation->json) : explanation->text;
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

}  // namespace attune::cli
