#include "ps/runtime/worker/worker_window.h"

namespace attune::ps {
namespace {

void Fill(const QuantileSummary& from, v1::Quantiles* to) {
  to->set_p50(from.p50);
  to->set_p90(from.p90);
  to->set_p99(from.p99);
  to->set_max(from.max);
  to->set_count(from.count);
  to->set_mean(from.mean);
}

}  // namespace

void Fill(const WorkerWindowSummary& from, v1::WorkerWindow* to) {
  to->set_steps(from.steps);
  to->set_samples(from.samples);
  Fill(from.step_seconds, to->mutable_step_seconds());
  Fill(from.compute_seconds, to->mutable_compute_seconds());
  Fill(from.pull_seconds, to->mutable_pull_seconds());
  Fill(from.push_seconds, to->mutable_push_seconds());
  to->set_pull_wait_seconds(from.pull_wait_seconds);
  to->set_push_wait_seconds(from.push_wait_seconds);
  to->set_pace_wait_seconds(from.pace_wait_seconds);
  to->set_pulled_keys(from.pulled_keys);
  to->set_pushed_keys(from.pushed_keys);
  to->set_loss_mean(from.loss_mean);
  to->set_loss_variance(from.loss_variance);
  to->set_loss_count(from.loss_count);
}

void Fill(const RowAccesses& from, v1::WorkerWindow* to) {
  v1::RowAccesses& rows = *to->mutable_rows();
  rows.set_owned(from.owned);
  rows.set_replicated(from.replicated);
  rows.set_fetched(from.fetched);
  rows.set_waited(from.waited);
  rows.set_remote(from.remote);
  rows.set_late(from.late);
  rows.set_refused(from.refused);
}

void Fill(const CopyCounts& from, v1::WorkerWindow* to) {
  v1::RowCopies& copies = *to->mutable_copies();
  copies.set_rows(from.copies);
  copies.set_flushed_bytes(from.flushed_bytes);
  copies.set_refreshed_bytes(from.refreshed_bytes);
  copies.set_oldest_read_seconds(Seconds(from.oldest_read));
}

void Fill(const Staleness& from, v1::WorkerWindow* to) {
  if (from.pushes == 0) return;
  to->set_staleness_mean(static_cast<double>(from.sum) / static_cast<double>(from.pushes));
  to->set_staleness_max(from.max);
  to->set_staleness_count(from.pushes);
}

}  // namespace attune::ps
