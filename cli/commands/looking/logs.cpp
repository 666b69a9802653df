#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <stop_token>
#include <thread>

#include "base/mutex.h"
#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/line_splitter.h"
#include "cli/failure.h"
#include "cli/runs/jobs.h"
#include "proto/contract.h"

namespace attune::cli {
namespace {

constexpr size_t kFollowedPodsMax = 256;  // one thread each while following
constexpr Duration kFollowMax = std::chrono::hours(24);

StatusOr<std::vector<kube::Json>> ChoosePods(const JobConnection& connection, const LogsArguments& arguments) {
  const kube::ObjectKey& key = connection.key;
  ASSIGN_OR_RETURN(const std::vector<kube::Json> pods, GetPods(*connection.api, key));
  std::vector<kube::Json> chosen;
  for (const kube::Json& pod : pods) {
    if (!arguments.role.empty() && kube::Label(pod, contract::kLabelRole) != arguments.role) continue;
    if (arguments.index && kube::Label(pod, contract::kLabelIndex) != std::to_string(*arguments.index)) continue;
    chosen.push_back(pod);
  }
  if (chosen.size() > kFollowedPodsMax) {
    return Error(StatusCode::kInvalidArgument, std::to_string(chosen.size()) + " pods match, at most " +
                                                   std::to_string(kFollowedPodsMax) +
                                                   " can be shown together; name a ROLE and an INDEX");
  }
  if (!chosen.empty()) return chosen;
  RETURN_IF_ERROR(GetJob(*connection.api, key).status());  // a wrong name is the likelier reason
  std::string known;
  for (const kube::Json& pod : pods) known += (known.empty() ? "" : ", ") + std::string(kube::Name(pod));
  return Error(StatusCode::kNotFound,
               "job " + key.name + " has no such pod" + (known.empty() ? "; it has none now" : "; it has " + known));
}

// Whole lines of several pods, one at a time.
class Printer {
 public:
  void Print(const std::string& prefix, std::string_view text) {
    const MutexLock lock(mutex_);
    std::fwrite(prefix.data(), 1, prefix.size(), stdout);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    printed_ = true;
    changed_.notify_all();
  }
  // Says on standard error that there is nothing yet, unless something comes soon: a program that writes nothing looks
  // like a command that hangs.
  void SayIfNothingComes(const std::stop_token& stop, size_t pods) {
    const MutexLock lock(mutex_);
    const auto printed = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return printed_; };
    if (changed_.wait_for(mutex_, stop, kSilence, printed) || stop.stop_requested()) return;
    std::fprintf(stderr, "attune: %s written nothing so far; waiting for more until %s (Ctrl-C leaves)\n",
                 pods == 1 ? "the pod has" : "the pods have", pods == 1 ? "it ends" : "they end");
  }

  // Whether anything was; for when all has been read.
  bool printed() {
    const MutexLock lock(mutex_);
    return printed_;
  }

 private:
  static constexpr Duration kSilence = std::chrono::seconds(2);
  Mutex mutex_;
  std::condition_variable_any changed_;  // for its waits that a stop token ends
  bool printed_ ABSL_GUARDED_BY(mutex_) = false;
};

Status ReadPod(kube::Api& api, const kube::Json& pod, const LogsArguments& arguments, bool prefixed, Printer& printer) {
  kube::LogOptions options;
  options.container = std::string(kube::Label(pod, contract::kLabelRole));
  options.tail_lines = arguments.tail;
  options.follow = arguments.follow;
  options.previous = arguments.previous;
  kube::CallOptions call;
  if (arguments.follow) call.timeout = kFollowMax;
  const std::string prefix = prefixed ? std::string(kube::Name(pod)) + "  " : "";
  LineSplitter lines([&](std::string_view line) { printer.Print(prefix, line); });
  const Status status = api.ReadLog(
      kube::KeyOf(pod), options,
      [&](std::string_view text) {
        lines.Add(text);
        return true;
      },
      call);
  lines.Finish();
  return status;
}

}  // namespace

int Logs(const LogsArguments& arguments, const Target& target) {
  auto connection = ConnectToJob(target, arguments.job, Purpose::kLook);
  if (!connection.ok()) return Fail(connection.status());
  const auto pods = ChoosePods(*connection, arguments);
  if (!pods.ok()) return Fail(pods.status());
  Printer printer;
  std::atomic<int> failures{0};
  const auto read = [&](const kube::Json& pod) {
    const Status status = ReadPod(*connection->api, pod, arguments, pods->size() > 1, printer);
    if (status.ok()) return;
    ++failures;
    Fail(Annotate(status, "reading the log of " + std::string(kube::Name(pod))));
  };
  std::jthread silence;
  if (arguments.follow) {
    silence = std::jthread([&](const std::stop_token& stop) { printer.SayIfNothingComes(stop, pods->size()); });
  }
  if (!arguments.follow || pods->size() == 1) {
    for (const kube::Json& pod : *pods) read(pod);
  } else {
    std::vector<std::jthread> threads;
    for (const kube::Json& pod : *pods) threads.emplace_back([&read, &pod] { read(pod); });
  }
  if (!arguments.follow && failures == 0 && !printer.printed())
    std::fprintf(stderr, "attune: %s written nothing\n", pods->size() == 1 ? "the pod has" : "the pods have");
  return failures == 0 ? kExitOk : kExitFailed;
}

}  // namespace attune::cli
