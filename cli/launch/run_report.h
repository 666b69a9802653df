// Records what is followed, into files: the history in the run directory, the page where --report asks for it.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/status.h"
#include "cli/runs/run_history.h"
#include "cli/runs/run_record.h"

namespace attune::cli {

class RunReport {
 public:
  // `directory` "": no history is kept on disk. `page` "": no page; with several jobs each gets its own, named after
  // it.
  RunReport(std::filesystem::path directory, std::filesystem::path page, size_t jobs)
      : directory_(std::move(directory)), page_(std::move(page)), jobs_(jobs) {}

  // For the head of the pages.
  void Describe(std::vector<std::pair<std::string, std::string>> about) { about_ = std::move(about); }
  // What is known of the view's job by now.
  const RunHistory& Add(const JobView& view, double now);
  // How the run's jobs ended, where they were ended from outside.
  void Conclude(const RunRecord& record);
  // What tuning did to the job of this view; "" where it did nothing.
  std::string HeadlineOf(const JobView& view) const;
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
  std::vector<std::pair<std::string, std::string>> about_;
  std::map<std::string, Job> recorded_;  // by namespace/name
};

}  // namespace attune::cli
