// RunHistory -> the page that `attune run --dashboard` serves: the report of the run so far, and a script that asks for
// it again while a user looks. The page needs nothing from elsewhere, and its policy lets it have nothing. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/runs/run_history.h"

namespace attune::cli {

// Histories of one run's jobs, in the order in which they were first seen; they do not change any more.
using Histories = std::vector<std::shared_ptr<const RunHistory>>;

// "default/word2vec": how addresses name a job.
std::string JobName(const RunHistory& history);
// The whole page, which shows `jobs[chosen]` and leads to the others. Without jobs it says so.
std::string DashboardPage(const Histories& jobs, size_t chosen);
// What the script puts in the place of what the page shows.
std::string DashboardPart(const Histories& jobs, size_t chosen);

// A Content-Security-Policy under which the page's own style and script, known by their hashes, work and nothing else.
std::string DashboardPolicy();

}  // namespace attune::cli
