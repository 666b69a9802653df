#include "ps/runtime/server/server_window.h"

#include <algorithm>
#include <utility>

namespace attune::ps {

v1::WindowReport ServerWindow::Take(const ServerFigures& now, MonotonicTime at) {
  v1::WindowReport window;
  window.set_duration_seconds(Seconds(at - std::exchange(begin_, at)));
  v1::ServerWindow& server = *window.mutable_server();
  server.set_rows(now.rows);
  server.set_row_bytes(now.row_bytes);
  server.set_coordinator_silent_seconds(now.coordinator_silent_seconds);
  server.set_map_version(now.map_version);
  server.set_goal_reached(now.goal_reached);
  server.set_pulls(now.counters.pulls - counters_.pulls);
  server.set_pushes(now.counters.pushes - counters_.pushes);
  server.set_pulled_keys(now.counters.pulled_keys - counters_.pulled_keys);
  server.set_pushed_keys(now.counters.pushed_keys - counters_.pushed_keys);
  server.set_duplicate_pushes(now.counters.duplicate_pushes - counters_.duplicate_pushes);
  server.set_connections(now.bytes.connections);
  server.set_parked_pulls(now.parked_pulls);
  server.set_waiting_bytes(now.bytes.bytes_waiting);
  server.set_bytes_received(now.bytes.bytes_received - bytes_.bytes_received);
  server.set_bytes_sent(now.bytes.bytes_sent - bytes_.bytes_sent);
  const double serving_before = std::exchange(serving_cpu_seconds_, now.serving_cpu_seconds);
  server.set_serving_cpu_seconds(std::max(0.0, now.serving_cpu_seconds - serving_before));
  for (const TableFigures& table : now.tables) {
    v1::TableRows& rows = *server.add_tables();
    rows.set_name(table.name);
    rows.set_rows(table.rows);
    rows.set_row_bytes(table.row_bytes);
    rows.set_announced(static_cast<uint64_t>(table.interests.announced));
    rows.set_copies(static_cast<uint64_t>(table.interests.copies));
    rows.set_left_cores(table.interests.left_cores);
    rows.set_copied_cores(table.interests.copied_cores);
    rows.set_decided_cores(table.interests.decided_cores);
  }
  counters_ = now.counters;
  bytes_ = now.bytes;
  return window;
}

void ServerWindow::AddRelocation(const JobProgress& progress, v1::WindowReport* to) {
  const uint64_t before = std::exchange(rows_moved_, progress.rows_moved);
  const uint64_t moved = progress.rows_moved - (before <= progress.rows_moved ? before : 0);  // another coordinator
  const uint64_t rows_left = progress.rows_to_come + progress.copies_to_send;
  if (moved == 0 && rows_left == 0 && progress.shards_to_change == 0) return;
  const uint64_t row_bytes = to->server().rows() > 0 ? to->server().row_bytes() / to->server().rows() : 0;
  v1::Relocation& relocation = *to->mutable_job()->mutable_relocation();
  relocation.set_bytes_left(rows_left * row_bytes);
  relocation.set_rows_per_second(static_cast<double>(moved) / std::max(1e-3, to->duration_seconds()));
}

}  // namespace attune::ps
