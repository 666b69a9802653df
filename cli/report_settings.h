// Throughput at each number of servers and workers that a run had, as a colored table. Pure.
#pragma once

#include <string>

#include "cli/run_history.h"

namespace attune::cli {

// "" for a run that stayed at one setting.
std::string SettingsTable(const RunHistory& history);

}  // namespace attune::cli
