// The runs there are: the ones in ./attune-runs, and those that began elsewhere, which an index in the user's state
// directory names ($XDG_STATE_HOME/attune/runs, else ~/.local/state/attune/runs; one small file per run). The index
// only says where to look: a directory that was moved or removed is dropped from it, and one without an entry is found
// when its parent is the present directory's attune-runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/runs/run_record.h"

namespace attune::cli {

// Newest first. A run whose process is gone without a word is kLost.
std::vector<RunRecord> ListRuns();
// The run in this directory; of an older attune without a record, as far as its history says. NotFound when there is
// none.
StatusOr<RunRecord> LoadRun(const std::filesystem::path& directory);
// By name of the run, by directory, or by name of a job: the newest that trained it.
StatusOr<RunRecord> FindRun(const std::string& wanted);

// So that it is found from every directory. Not to be able to is no reason to stop a run.
void RememberRun(const std::filesystem::path& directory);
// With everything in its directory. FailedPrecondition while it runs.
Status RemoveRun(const RunRecord& record);
// That it has ended: looked at for all before the first of several is removed.
Status CheckRemovable(const RunRecord& record);

// The decisions, pure. `runs` are newest first.
StatusOr<RunRecord> ChooseRun(const std::vector<RunRecord>& runs, const std::string& wanted);
// What is meant where none is named: the newest that has ended, if all that have ended trained one job. NotFound when
// none has; InvalidArgument, with the names, when there were several jobs.
struct OnlyRun {
  RunRecord run;
  std::string job;
};
StatusOr<OnlyRun> ChooseOnlyRun(const std::vector<RunRecord>& runs);
// Ended ones in directory `parent`, beyond the `keep` newest there.
std::vector<RunRecord> RunsBeyond(const std::vector<RunRecord>& runs, const std::filesystem::path& parent, size_t keep);
// What can be done with a run that has ended: "`attune resume word2vec-1` continues it" only where it left a
// checkpoint.
std::string HowToGoOn(const RunRecord& run);
// "word2vec-1 (Succeeded), other (Running)"; the newest few.
std::string NamesOf(const std::vector<RunRecord>& runs);

}  // namespace attune::cli
