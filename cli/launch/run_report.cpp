#include "cli/launch/run_report.h"

#include <cstdio>

#include "base/os/file.h"
#include "base/os/output.h"
#include "cli/report/report_page.h"
#include "cli/report/report_settings.h"

namespace attune::cli {
namespace {

constexpr double kHistorySeconds = 5;  // so that `attune report` in another terminal sees a running job

void Complain(const Status& status) {
  if (!status.ok()) std::fprintf(stderr, "attune: %s\n", std::string(Message(status)).c_str());
}

}  // namespace

const RunHistory& RunReport::Add(const JobView& view, double now) {
  Job& job = recorded_[view.name_space + "/" + view.name];
  job.recorder.Add(view, now);
  job.recorder.Describe(about_);
  const bool ended = view.outcome != JobView::Outcome::kNone;
  if (!directory_.empty() && (ended || now - job.saved_at >= kHistorySeconds)) {
    // A full disk must not end the training; the end of the run says so.
    [[maybe_unused]] const Status saved = SaveHistoryOf(job, now);
  }
  return job.recorder.history();
}

void RunReport::Conclude(const RunRecord& record) {
  for (const RunJob& job : record.jobs) {
    const auto at = recorded_.find(job.name_space + "/" + job.name);
    if (at != recorded_.end() && WasEndedFromOutside(job.outcome)) at->second.recorder.SetPhase(ToString(job.outcome));
  }
}

std::string RunReport::HeadlineOf(const JobView& view) const {
  const auto at = recorded_.find(view.name_space + "/" + view.name);
  return at == recorded_.end() ? "" : TuningHeadline(at->second.recorder.history());
}

Status RunReport::SaveHistoryOf(Job& job, double now) const {
  job.saved_at = now;
  const RunHistory& history = job.recorder.history();
  return WriteFileAtomically(directory_ / HistoryFile(history.name), SaveHistory(history));
}

std::filesystem::path RunReport::PageOf(const std::string& job) const {
  const auto place = FindOutputPlace(page_.string());
  if (jobs_ < 2 || (place.ok() && place->kind != OutputPlace::Kind::kFile)) return page_;
  std::filesystem::path named = page_;
  return named.replace_filename(page_.stem().string() + "-" + job + page_.extension().string());
}

bool RunReport::Finish(bool quiet) {
  bool complete = true;
  for (auto& [key, job] : recorded_) {
    const RunHistory& history = job.recorder.history();
    if (!directory_.empty()) Complain(SaveHistoryOf(job, 0));
    if (page_.empty()) continue;
    const std::filesystem::path file = PageOf(history.name);
    const auto place = FindOutputPlace(file.string());
    const Status written = place.ok() ? WriteOutput(*place, ReportPage(history)) : place.status();
    if (!written.ok()) {
      Complain(written);
      complete = false;
    } else if (!quiet) {
      std::printf("report of %s: %s\n", history.name.c_str(), file.c_str());
    }
  }
  return complete;
}

}  // namespace attune::cli
