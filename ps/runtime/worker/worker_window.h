// What a worker reports of a window, as a message (proto/attune/v1/telemetry.proto).
#pragma once

#include "attune/v1/telemetry.pb.h"
#include "ps/core/intent/row_accesses.h"
#include "ps/core/keys/seen_versions.h"
#include "ps/runtime/process/window.h"

namespace attune::ps {

// Its counters and times.
void Fill(const WorkerWindowSummary& from, v1::WorkerWindow* to);
void Fill(const Staleness& from, v1::WorkerWindow* to);
void Fill(const RowAccesses& from, v1::WorkerWindow* to);
void Fill(const CopyCounts& from, v1::WorkerWindow* to);

}  // namespace attune::ps
