#include <set>
#include <utility>

#include "cli/display/job/job_figures.h"
#include "cli/display/job/render.h"
#include "cli/display/job/screen_line.h"
#include "cli/display/job/view_trends.h"
#include "cli/display/local_time.h"
#include "cli/display/terminal.h"
#include "cli/job_list.h"
#include "cli/runs/job_look.h"
#include "cli/top/fleet.h"
#include "cli/top/pod_pages.h"
#include "cli/top/top_display.h"
#include "operator/kube/client/http_transport.h"
#include "proto/contract.h"

namespace attune::cli {
namespace {

constexpr kube::CallOptions kTopCall{std::chrono::seconds(5)};
constexpr char kPage[] = "metrics";

class AllJobsSubject final : public TopSubject {
 public:
  AllJobsSubject(const Target& target, bool all_namespaces) : target_(target), all_namespaces_(all_namespaces) {}

  Status Look() override {
    const Status status = TryToLook();
    fleet_.problem = status.ok() ? silent_ : "not new: " + std::string(Message(status));
    return status;
  }
  bool over() const override { return false; }

  std::vector<std::string> Lines(const Screen& screen, double now) const override {
    return FleetLines(fleet_, screen, now);
  }
  std::vector<std::string> PlainLines(double now) const override {
    std::vector<std::string> lines = {DateText(now) + "  " + fleet_.where};
    if (!silent_.empty()) lines.push_back(silent_);
    if (fleet_.jobs.empty()) {
      lines.emplace_back("no jobs");
      return lines;
    }
    for (std::string& line : FleetTable(fleet_, now)) lines.push_back(std::move(line));
    return lines;
  }
  kube::Json ToJson(double now) const override { return FleetJson(fleet_, now); }

 private:
  // Runs on this machine come and go; a cluster is connected to once, for that may ask a program for credentials.
  Status Connect() {
    if (!connections_.empty() && !connections_.front().instance) return OkStatus();
    auto connections = ConnectToAll(target_);
    if (!connections.ok()) return connections.status();
    connections_ = *std::move(connections);
    return OkStatus();
  }

  Status TryToLook() {
    const Status connected = Connect();
    if (connected.code() == StatusCode::kNotFound && looked_) {  // the last run has ended
      fleet_.jobs.clear();
      fleet_.where = "nothing runs on this machine";
      silent_.clear();
      return OkStatus();
    }
    RETURN_IF_ERROR(connected);
    ASSIGN_OR_RETURN(const JobList list, ListJobs(connections_, target_, all_namespaces_));
    fleet_.jobs.clear();
    std::set<std::string> namespaces;
    for (const kube::Json& job : list.jobs) {
      fleet_.jobs.push_back(MakeView(api::ParseTrainingJob(job).job, {}, {}));
      namespaces.insert(fleet_.jobs.back().name_space);
    }
    SortFleet(fleet_.jobs);
    fleet_.with_namespace = all_namespaces_ || namespaces.size() > 1;
    fleet_.where = list.where;
    silent_.clear();
    for (const Status& status : list.silent) silent_ += (silent_.empty() ? "" : "; ") + std::string(Message(status));
    looked_ = true;
    return OkStatus();
  }

  const Target target_;
  const bool all_namespaces_;
  std::vector<Connection> connections_;
  Fleet fleet_;
  std::string silent_;
  bool looked_ = false;
};

// On this machine a pod's address is one of its own on loopback; in a cluster the API server leads there.
PodPages::Read PageReader(const JobConnection& connection) {
  if (!connection.instance) {
    return [api = connection.api.get(), name_space = connection.key.name_space](const PodView& pod, Duration timeout) {
      return api->GetPodPage({name_space, pod.name}, contract::kMetricsPort, kPage, {timeout});
    };
  }
  return [](const PodView& pod, Duration timeout) -> StatusOr<std::string> {
    const std::string host = pod.address.find(':') == std::string::npos ? pod.address : "[" + pod.address + "]";
    const std::string server = "http://" + host + ":" + std::to_string(contract::kMetricsPort);
    ASSIGN_OR_RETURN(const auto transport, kube::HttpTransport::Make({.server = server}));
    ASSIGN_OR_RETURN(kube::HttpResponse response, transport->Send({.method = "GET", .path = std::string("/") + kPage},
                                                                  timeout, kube::Api::kPodPageMax));
    if (response.head.status != 200)
      return Error(StatusCode::kUnavailable, server + " answers with " + std::to_string(response.head.status));
    return std::move(response.body);
  };
}

class OneJobSubject final : public TopSubject {
 public:
  OneJobSubject(JobConnection connection, const TimeSource& time)
      : connection_(std::move(connection)), pages_(PageReader(connection_), time) {}

  Status Look() override {
    auto seen = LookAtJob(*connection_.api, connection_.key, kTopCall);
    if (!seen.ok()) return NoAnswer(seen.status());
    problem_.clear();
    if (seen->outcome == JobView::Outcome::kDeleted) {
      if (!looked_) return GetJob(*connection_.api, connection_.key).status();  // names the jobs there are
      view_.outcome = seen->outcome;
      view_.phase = seen->phase;
      return OkStatus();
    }
    view_ = *std::move(seen);
    looked_ = true;
    if (!over()) {
      pages_.AddTo(view_);
      if (!pages_.problem().empty()) problem_ = "cpu and memory of pods cannot be read: " + pages_.problem();
    }
    trends_.Add(view_);
    return OkStatus();
  }
  bool over() const override {
    return run_ended_ || connection_.ended.has_value() || view_.outcome != JobView::Outcome::kNone;
  }

  std::vector<std::string> Lines(const Screen& screen, double now) const override {
    Screen room = screen;
    room.height -= problem_.empty() ? 0 : 1;
    std::vector<std::string> lines = Render(view_, room, now);
    if (!problem_.empty()) Wrap(OneLine(problem_), Style::kBad, screen, 1, lines);
    return lines;
  }
  std::vector<std::string> PlainLines(double now) const override {
    const Screen wide{.width = 160, .height = 60, .color = false, .unicode = CurrentScreen().unicode};
    std::vector<std::string> lines = Lines(wide, now);
    lines.insert(lines.begin(), DateText(now));
    return lines;
  }
  kube::Json ToJson(double now) const override {
    kube::Json object = TopJson(view_, now);
    if (!problem_.empty()) object["problem"] = problem_;
    return object;
  }

 private:
  // The API of a run on this machine goes with the run.
  Status NoAnswer(const Status& status) {
    if (!looked_) return status;
    problem_ = "not new: " + std::string(Message(status));
    if (!connection_.instance) return status;
    const auto instances = ConnectToAll({.instance = connection_.instance});
    if (instances.status().code() != StatusCode::kNotFound) return status;
    run_ended_ = true;
    problem_ = "the run has ended; `attune describe " + connection_.key.name + "` says how";
    return OkStatus();
  }

  const JobConnection connection_;
  PodPages pages_;
  ViewTrends trends_;
  JobView view_;
  std::string problem_;
  bool looked_ = false, run_ended_ = false;
};

}  // namespace

std::unique_ptr<TopSubject> AllJobs(const Target& target, bool all_namespaces) {
  return std::make_unique<AllJobsSubject>(target, all_namespaces);
}

std::unique_ptr<TopSubject> OneJob(JobConnection connection, const TimeSource& time) {
  return std::make_unique<OneJobSubject>(std::move(connection), time);
}

}  // namespace attune::cli
