#include "operator/kube/credentials/exec_source.h"

#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace attune::kube {
namespace {

constexpr Duration kRunTimeout = std::chrono::seconds(15);

}  // namespace

ExecSource::ExecSource(const ClientConfig& config, const TimeSource& time, CommandRunner run)
    : plugin_(config.exec),
      info_(ExecInfo(config)),
      context_(config.context),
      certificate_pem_(config.client_certificate_pem),
      key_pem_(config.client_key_pem),
      time_(time),
      run_(std::move(run)) {}

ExecSource::~ExecSource() {
  cancelled_ = true;
  std::thread last;
  {
    const MutexLock lock(mutex_);
    last = std::move(thread_);
  }
  if (last.joinable()) last.join();
}

StatusOr<Credentials> ExecSource::Get(MonotonicTime deadline) {
  using Step = CredentialCache::Step;
  const MutexLock lock(mutex_);
  while (true) {
    const MonotonicTime now = time_.Now();
    const WallTime wall = time_.WallNow();
    const Step step = cache_.Next(wall, now);
    if (step == Step::kUse) return Held();
    if (step == Step::kFail) return Explained(cache_.failure());
    if (!running_ && !StartRun()) continue;
    if (cache_.IsUsable(wall)) return Held();
    if (now >= deadline) break;
    const uint64_t seen = runs_ended_;
    const auto ended = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return runs_ended_ != seen; };
    if (!changed_.WaitFor(mutex_, deadline - now, ended)) break;
  }
  return Explained(Error(StatusCode::kUnavailable, "the program has not answered yet, so nothing was sent; try again"));
}

bool ExecSource::Refused(uint64_t number) {
  const MutexLock lock(mutex_);
  cache_.OnRefused(number, time_.Now());
  return cache_.Next(time_.WallNow(), time_.Now()) != CredentialCache::Step::kFail;
}

bool ExecSource::StartRun() {
  if (thread_.joinable()) thread_.join();  // its run has ended: it holds nothing any more
  try {
    thread_ = std::thread([this] { Run(); });
    running_ = true;
  } catch (const std::system_error& error) {
    cache_.OnFailed(Error(StatusCode::kResourceExhausted, std::string("no thread to run it: ") + error.what()),
                    time_.Now());
  }
  return running_;
}

void ExecSource::Run() {
  StatusOr<ExecCredential> credential = Ask();
  const MutexLock lock(mutex_);
  if (credential.ok()) {
    cache_.OnObtained(*std::move(credential), time_.WallNow(), time_.Now());
  } else {
    if (cache_.IsUsable(time_.WallNow())) {
      log::Warn("credentials cannot be renewed, those that are about to expire are used",
                {{"context", context_}, {"reason", credential.status()}});
    }
    cache_.OnFailed(credential.status(), time_.Now());
  }
  running_ = false;
  ++runs_ended_;
  changed_.NotifyAll();
}

StatusOr<CommandResult> ExecSource::RunProgram() const {
  const char* search_path = std::getenv("PATH");
  ASSIGN_OR_RETURN(const std::string program, FindProgram(plugin_.command, search_path != nullptr ? search_path : ""));
  std::vector<std::string> changes = plugin_.environment;
  changes.push_back(std::string(kExecInfoVariable) + "=" + info_);
  return run_({.program = program,
               .arguments = plugin_.arguments,
               .environment = EnvironmentWith(changes),
               .timeout = kRunTimeout},
              &cancelled_);
}

StatusOr<ExecCredential> ExecSource::Ask() const {
  StatusOr<CommandResult> result = RunProgram();
  if (!result.ok()) {
    std::string text(Message(result.status()));
    if (result.status().code() == StatusCode::kNotFound) {
      text += "; " + (plugin_.install_hint.empty() ? "install it" : plugin_.install_hint);
    }
    return Error(result.status().code(), text);
  }
  RETURN_IF_ERROR(StatusOfRun(*result, plugin_, kRunTimeout));
  return ParseExecCredential(result->output, plugin_);
}

Credentials ExecSource::Held() const {
  const ExecCredential& held = cache_.held();
  const bool has_certificate = !held.certificate_pem.empty();
  return {.token = held.token,
          .certificate_pem = has_certificate ? held.certificate_pem : certificate_pem_,
          .key_pem = has_certificate ? held.key_pem : key_pem_,
          .number = cache_.number()};
}

Status ExecSource::Explained(const Status& status) const {
  return Annotate(status, "credentials of context " + context_ + " from '" + plugin_.command + "'");
}

}  // namespace attune::kube
