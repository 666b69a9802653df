#include "operator/controller/policies/policy_reporter.h"

#include "base/log.h"

namespace attune::controller {

PolicyReporter::PolicyReporter(kube::Api& api, const TimeSource& time, const PolicyBook& book,
                               const kube::WatchCache& jobs)
    : api_(api), time_(time), book_(book), jobs_(jobs), thread_([this] { Run(); }) {}

PolicyReporter::~PolicyReporter() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.NotifyAll();
  thread_.join();
}

void PolicyReporter::Run() {
  const auto stops = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; };
  while (true) {
    // Before the first list of jobs there seem to be none.
    if (jobs_.HasSynced()) {
      for (const PolicyBook::Report& report : book_.ReportOn(jobs_.All(), time_.WallNow())) {
        if (report.policy.status != report.due) Write(report);
        const MutexLock lock(mutex_);
        if (stopping_) return;
      }
    }
    const MutexLock lock(mutex_);
    if (stop_.WaitFor(mutex_, kEvery, stops)) return;
  }
}

void PolicyReporter::Write(const PolicyBook::Report& report) {
  constexpr kube::CallOptions kCall{.timeout = std::chrono::seconds(5)};
  kube::Json patch;
  patch["metadata"]["uid"] = report.policy.uid;
  patch["status"] = api::ToJson(report.due);
  if (report.due.message.empty()) patch["status"]["message"] = nullptr;
  const Status written = api_.Patch(api::TypeOf(report.policy), {report.policy.name_space, report.policy.name},
                                    kube::PatchType::kMerge, patch, "status", kCall)
                             .status();
  // Gone, or another of that name by now.
  const bool is_over = written.code() == StatusCode::kNotFound || written.code() == StatusCode::kAborted;
  if (!written.ok() && !is_over && written.code() != failure_.code())
    log::Warn("the status of a policy cannot be written; its policy is in force all the same",
              {{"policy", NameOf(report.policy)}, {"reason", written}});
  failure_ = is_over ? OkStatus() : written;
}

}  // namespace attune::controller
