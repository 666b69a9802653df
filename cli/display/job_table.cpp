#include "cli/display/job_table.h"

#include "cli/runs/jobs.h"
#include "operator/api/training_job.h"

namespace attune::cli {

Table JobTable(const std::vector<kube::Json>& jobs, bool with_namespace, double now) {
  Table table;
  table.header = {"NAME", "PHASE", "SERVERS", "WORKERS", "PROGRESS", "LOSS", "RATE", "REMAINING", "AGE"};
  if (with_namespace) table.header.insert(table.header.begin(), "NAMESPACE");
  for (const kube::Json& object : jobs) {
    const api::TrainingJob job = api::ParseTrainingJob(object).job;
    const api::Display display = api::MakeDisplay(job.status);
    std::vector<std::string> row = {job.name,        job.status.phase,  display.servers,
                                    display.workers, display.progress,  display.loss,
                                    display.rate,    display.remaining, AgeText(job.creation_time, now)};
    if (with_namespace) row.insert(row.begin(), job.name_space);
    table.rows.push_back(row);
  }
  return table;
}

}  // namespace attune::cli
