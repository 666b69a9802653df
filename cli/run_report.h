// Records what is followed, into files: the history in the run directory, the page where --report asks for it.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/status.h"
#include "cli/run_history.h"

namespace attune::cli {

class RunReport {
 public:
  // `directory` "": no history is kept on disk. `page` "": no page; with several jobs each gets its own, named after
  // it.
  RunReport(std::filesystem::path directory, std::filesystem::path page, size_t jobs)
      : directory_(std::move(directory)), page_(std::move(page)), jobs_(jobs) {}

  void Add(const JobView& view, double now);
  // Writes everything, and says on standard error what could not be written; false when a page is missing.
  bool Finish(bool quiet);

 private:
  struct Job {
    RunRecorder recorder;
    double saved_at = 0;
  };
  std::filesystem::path PageOf(const std::string& job) const;
  Status SaveHistoryOf(Job& job, double now) const;

  const std::filesystem::path directory_, page_;
  const size_t jobs_;
  std::map<std::string, Job> recorded_;  // by namespace/name
};

}  // namespace attune::cli
