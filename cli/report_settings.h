// What a run made of each setting it had: throughput as a table, and what tuning did in one line. Pure.
#pragma once

#include <string>

#include "cli/run_history.h"

namespace attune::cli {

// "" for a run that stayed at one setting.
std::string SettingsTable(const RunHistory& history);

// "2 x 2 at 0.93M -> 1 x 6 at 2.05M words/s, 13 changes" (servers x workers): where tuning began and where it ended; ""
// for a run that was not tuned, or where either was not stayed at for long enough.
std::string TuningHeadline(const RunHistory& history);

}  // namespace attune::cli
