#include "operator/controller/status/telemetry/row_places.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/fit_text.h"
#include "operator/controller/members/move.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/evidence.h"

namespace attune::controller {
namespace {

constexpr size_t kTablesShown = 32;
constexpr size_t kNameBytes = 128;

// Sums of what workers have said.
struct Sums {
  double rows = 0, replicated = 0, owned = 0, fetched = 0, waited = 0, remote = 0, late = 0;
  double rows_per_second = 0, flushed_per_second = 0, refreshed_per_second = 0;
};

void Add(const v1::WorkerWindow& worker, double seconds, Sums& sums) {
  const v1::RowAccesses& rows = worker.rows();
  const auto add = [](double& sum, uint64_t count) {
    sum += static_cast<double>(count);
    return static_cast<double>(count);
  };
  const double asked = add(sums.replicated, rows.replicated()) + add(sums.owned, rows.owned()) +
                       add(sums.fetched, rows.fetched()) + add(sums.waited, rows.waited()) +
                       add(sums.remote, rows.remote());
  add(sums.late, rows.late());
  sums.rows += asked;
  sums.rows_per_second += asked / seconds;
  sums.flushed_per_second += static_cast<double>(worker.copies().flushed_bytes()) / seconds;
  sums.refreshed_per_second += static_cast<double>(worker.copies().refreshed_bytes()) / seconds;
}

double ToHundredths(double value) { return std::round(100 * value) / 100; }

// Of all servers that report.
std::vector<api::TableRows> TablesOf(const Observed& observed, Now now) {
  std::map<std::string, api::TableRows> tables;
  for (const ObservedPod& pod : observed.pods) {
    if (!IsServerOf(observed, pod) || !IsAlive(pod) || IsUnheardFor(observed, pod, kReportAgeMax, now)) continue;
    const telemetry::PodSample* sample = ReportOf(observed, pod);
    if (sample == nullptr) continue;
    for (const v1::TableRows& said : sample->window.server().tables()) {
      const std::string name = FitText(said.name(), kNameBytes);  // the key of the list: no two are the same
      if (name.empty() || (!tables.contains(name) && tables.size() >= kTablesShown)) continue;
      api::TableRows& table = tables[name];
      table.rows += said.rows();
      table.row_bytes += said.row_bytes();
      table.announced += said.announced();
      table.copies += said.copies();
      table.left_cores += said.left_cores();
      table.copied_cores += said.copied_cores();
      table.decided_cores += said.decided_cores();
    }
  }
  std::vector<api::TableRows> list;
  for (auto& [name, table] : tables) {
    table.name = name;
    for (double* cores : {&table.left_cores, &table.copied_cores, &table.decided_cores}) *cores = ToHundredths(*cores);
    list.push_back(table);
  }
  return list;
}

double Thousandths(double value) { return std::round(1000 * value) / 1000; }

}  // namespace

std::optional<api::RowPlaces> RowPlacesOf(const Observed& observed, Now now) {
  api::RowPlaces places;
  Sums sums;
  for (const ObservedPod& pod : observed.pods) {
    if (!IsWorkerOf(observed, pod) || !IsAlive(pod) || IsUnheardFor(observed, pod, kReportAgeMax, now)) continue;
    const telemetry::PodSample* sample = ReportOf(observed, pod);
    if (sample == nullptr || !sample->window.has_worker() || sample->window.duration_seconds() <= 0) continue;
    const v1::WorkerWindow& worker = sample->window.worker();
    Add(worker, sample->window.duration_seconds(), sums);
    places.copies += worker.copies().rows();
    places.oldest_read_seconds =
        std::max(places.oldest_read_seconds, Thousandths(worker.copies().oldest_read_seconds()));
  }
  v1::Announcements announcements;
  if (const v1::JobWindow* window = CurrentWindow(observed)) announcements = window->announcements();
  const bool is_tried = announcements.on_trial() || announcements.has_speedup();
  if (sums.rows <= 0 || (sums.rows + sums.late <= sums.remote && !is_tried)) return std::nullopt;
  places.per_second = std::round(sums.rows_per_second);
  places.replicated = Thousandths(sums.replicated / sums.rows);
  places.owned = Thousandths(sums.owned / sums.rows);
  places.fetched = Thousandths(sums.fetched / sums.rows);
  places.waited = Thousandths(sums.waited / sums.rows);
  places.remote = Thousandths(sums.remote / sums.rows);
  places.late = Thousandths(sums.late / sums.rows);
  places.flushed_bytes_per_second = static_cast<uint64_t>(sums.flushed_per_second);
  places.refreshed_bytes_per_second = static_cast<uint64_t>(sums.refreshed_per_second);
  places.ignored = announcements.ignored();
  places.on_trial = announcements.on_trial();
  if (announcements.has_speedup()) places.speedup = ToHundredths(announcements.speedup());
  places.tables = TablesOf(observed, now);
  return places;
}

}  // namespace attune::controller
