#include "cli/display/follow.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

#include "cli/application.h"
#include "cli/display/job/job_json.h"
#include "cli/display/job/render.h"
#include "cli/display/job/summary.h"
#include "cli/display/job/view_trends.h"
#include "cli/display/local_time.h"
#include "cli/display/terminal.h"
#include "cli/runs/job_look.h"

namespace attune::cli {
namespace {

constexpr Duration kFrameLocal = std::chrono::milliseconds(250);
constexpr Duration kFrameCluster = std::chrono::seconds(2);
constexpr Duration kLineLocal = std::chrono::seconds(3);
constexpr Duration kLineCluster = std::chrono::seconds(10);
constexpr Duration kJsonLine = std::chrono::seconds(1);
constexpr Duration kSilenceMax = std::chrono::seconds(60);  // with a cluster that does not answer
constexpr kube::CallOptions kFollowCall{std::chrono::seconds(5)};

class Follower {
 public:
  Follower(kube::Api& api, const std::vector<kube::ObjectKey>& jobs, const FollowOptions& options,
           const TimeSource& time)
      : api_(api), jobs_(jobs), options_(options), time_(time), live_(!options.json && !options.plain && IsTerminal()) {
    for (const kube::ObjectKey& key : jobs) {
      JobView view;
      view.name = key.name;
      view.name_space = key.name_space;
      view.phase = "Pending";
      result_.views.push_back(view);
    }
    shown_.resize(jobs.size());
    if (live_) area_ = std::make_unique<LiveArea>();
  }

  FollowResult Run() {
    last_answer_ = time_.Now();
    while (true) {
      for (size_t i = 0; i < jobs_.size(); ++i) {
        if (const Status status = Refresh(jobs_[i], result_.views[i]); !status.ok() && Lost(status)) return Finish();
      }
      Show();
      if (std::all_of(result_.views.begin(), result_.views.end(), Ended)) return Finish();
      if (Interrupts::Wait(options_.local ? kFrameLocal : kFrameCluster)) {
        result_.interrupted = true;
        return Finish();
      }
    }
  }

 private:
  struct Shown {
    std::string phase;
    MonotonicTime line_at{};
    std::set<std::string> events;
  };

  static bool Ended(const JobView& view) { return view.outcome != JobView::Outcome::kNone; }

  bool Lost(const Status& status) {
    if (!options_.local && time_.Now() - last_answer_ < kSilenceMax) return false;
    result_.lost = status;
    return true;
  }

  Status Refresh(const kube::ObjectKey& key, JobView& view) {
    if (Ended(view)) return OkStatus();
    auto seen = LookAtJob(api_, key, kFollowCall);
    if (!seen.ok()) return seen.status();
    last_answer_ = time_.Now();
    if (seen->outcome == JobView::Outcome::kDeleted) {  // what was seen of it stays
      view.outcome = seen->outcome;
      view.phase = seen->phase;
      return OkStatus();
    }
    view = *std::move(seen);
    if (options_.add_telemetry) options_.add_telemetry(key, view.uid, view);
    if (live_) trends_[key.ToString()].Add(view);
    return OkStatus();
  }

  void Show() {
    const double now = ToUnixSeconds(time_.WallNow());
    for (const JobView& view : result_.views) {
      if (options_.record) options_.record(view, now);
    }
    if (live_) {
      Screen screen = CurrentScreen();
      const int height = screen.height;
      std::vector<std::string> lines;
      for (const JobView& view : result_.views) {
        screen.height = height - static_cast<int>(lines.size());
        if (screen.height < 5) break;
        if (!lines.empty()) lines.emplace_back();
        for (std::string& line : Render(view, screen, now)) lines.push_back(std::move(line));
      }
      return area_->Draw(lines, screen.width);
    }
    for (size_t i = 0; i < result_.views.size(); ++i) ShowLines(result_.views[i], shown_[i], now);
    std::fflush(stdout);
  }

  void ShowLines(const JobView& view, Shown& shown, double now) {
    for (const JobEvent& event : view.events) {
      if (!shown.events.insert(event.time + event.reason + event.note).second) continue;
      if (options_.json) {
        const kube::Json line = {{"type", "event"},        {"job", view.name},   {"time", event.time},
                                 {"reason", event.reason}, {"note", event.note}, {"warning", event.warning}};
        std::puts(line.dump(-1, ' ', false, kube::Json::error_handler_t::replace).c_str());
      } else {
        std::printf("%s  %s  %s: %s\n", ClockText(ParseTime(event.time)).c_str(), view.name.c_str(),
                    event.reason.c_str(), event.note.c_str());
      }
    }
    const Duration every = options_.json ? kJsonLine : options_.local ? kLineLocal : kLineCluster;
    const bool news = shown.phase != view.phase;
    if (!news && (Ended(view) || time_.Now() - shown.line_at < every)) return;
    shown.phase = view.phase;
    shown.line_at = time_.Now();
    std::puts(options_.json ? RenderJson(view, now).c_str() : RenderPlain(view, now).c_str());
  }

  FollowResult Finish() {
    if (live_) area_->Clear();
    area_.reset();
    return std::move(result_);
  }

  kube::Api& api_;
  const std::vector<kube::ObjectKey>& jobs_;
  const FollowOptions& options_;
  const TimeSource& time_;
  const bool live_;
  std::unique_ptr<LiveArea> area_;
  std::vector<Shown> shown_;
  std::map<std::string, ViewTrends> trends_;  // by job
  MonotonicTime last_answer_{};
  FollowResult result_;
};

}  // namespace

FollowResult Follow(kube::Api& api, const std::vector<kube::ObjectKey>& jobs, const FollowOptions& options,
                    const TimeSource& time) {
  return Follower(api, jobs, options, time).Run();
}

int Conclude(const FollowResult& result, bool json) {
  if (!result.lost.ok()) {
    std::fprintf(stderr, "attune: lost contact: %s\n", attune::ToString(result.lost).c_str());
    return kExitFailed;
  }
  if (result.interrupted) return kExitInterrupted;
  int code = kExitOk;
  const Screen screen = CurrentScreen();
  for (const JobView& view : result.views) {
    if (!json) std::fputs(RenderSummary(view, screen).c_str(), stdout);
    if (view.outcome == JobView::Outcome::kFailed) code = kExitFailed;
    if (view.outcome == JobView::Outcome::kDeleted && code == kExitOk) code = kExitInterrupted;
  }
  std::fflush(stdout);
  return code;
}

}  // namespace attune::cli
