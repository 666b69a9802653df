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
    {"a report over a directory as file", {}, {"report", "toy", "-o", "/"}, 1, {"attune: "}},
    // Rows about targets that are replaced (devices, FIFOs, links, run directories) come here.
};

INSTANTIATE_TEST_SUITE_P(Files, BadDay, ::testing::ValuesIn(kCases), CaseName);

}  // namespace
}  // namespace attune
