// Where workers found their rows, in words.
#pragma once

#include <string>

#include "operator/api/status/row_status.h"
#include "operator/api/status/row_trace_status.h"

namespace attune::cli {

// "99.6% of 181k/s here (71.0% copies, 28.6% fetched ahead), 0.2% waited for, 0.2% remote; 0.3% announced late".
std::string PlacesText(const api::RowPlaces& places);
// "ignored; by the last trial the job runs at 0.80 times its rate when they are acted on"; "" where there is nothing to
// say.
std::string AnnouncementsText(const api::RowPlaces& places);
// "41.0k, oldest read 38 ms; flushed 12.0 MiB/s, refreshed 9.00 MiB/s"; "" without copies.
std::string CopiesText(const api::RowPlaces& places);
// What is made of the rows of each table, and what that saves, in words.
std::string TablesText(const api::RowPlaces& places);
// What each process saw of one row, a line each.
std::string RowTraceText(const api::RowTraceStatus& trace);

}  // namespace attune::cli
