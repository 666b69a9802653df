// Files and directories that are not what a command needs.
#include "tests/local/bad_day/bad_day.h"

namespace attune {
namespace {

const GivenFile kGoodJob = Job(Worker("command: [/bin/true]"));

Case Resume(std::string name, std::vector<GivenFile> files, std::vector<std::string> appears) {
  files.push_back(kGoodJob);
  return {
      std::move(name), std::move(files), {"run", "job.yaml", "--plain", "--resume", "old"}, 2, std::move(appears), {},
      {"attune-runs"}};
}

const Case kCases[] = {
    Resume("a directory to resume from that is not there", {},
           {"--resume old (/", "/old): there is no such directory"}),
    Resume("a file to resume from", {{"old", "x"}}, {"/old) is no directory"}),
    Resume("a run directory without a checkpoint", {{"old/claims/model/vectors.txt", "x"}},
           {"holds no checkpoint, neither itself nor in checkpoints or claims/*/checkpoints",
            "spec.checkpoint.intervalSeconds or `attune checkpoint JOB`"}),
    {"a damaged checkpoint in a run directory",
     {kGoodJob, {"old/claims/model/checkpoints/00000001.manifest.json", "{\"format\":"}},
     {"run", "job.yaml", "--plain", "--resume", "old"},
     2,
     {"--resume old (/", "checkpoint 1"},
     {},
     {"attune-runs"}},
    {"a directory of checkpoints that is empty", {{"old/readme", "x"}}, {"inspect", "old"}, 1, {"holds no checkpoint"}},
    {"a directory as manifest", {}, {"validate", "."}, 2, {"cannot read '.': Is a directory"}},
    {"checkpoints of a directory that is not there",
     {},
     {"inspect", "absent"},
     1,
     {"cannot list 'absent': No such file or directory"}},
    {"a model of a directory that is not there",
     {},
     {"export", "absent", "--format", "npz"},
     1,
     {"no checkpoint can be read: cannot list 'absent'"}},
    {"a run directory that cannot be made",
     {kGoodJob},
     {"run", "job.yaml", "--plain", "--run-directory", "/proc/x"},
     1,
     {"cannot make the run directory /proc/x", "choose another with --run-directory"}},
    {"a file as run directory",
     {kGoodJob, {"taken", "x"}},
     {"run", "job.yaml", "--plain", "--run-directory", "taken"},
     1,
     {"cannot make the run directory", "choose another with --run-directory"}},
    {"a report of a job that never was", {}, {"report", "toy"}, 1, {"there is no history of toy"}},
    // Rows about targets that are replaced (devices, FIFOs, links, run directories) come here.
};

INSTANTIATE_TEST_SUITE_P(Files, BadDay, ::testing::ValuesIn(kCases), CaseName);

}  // namespace
}  // namespace attune
