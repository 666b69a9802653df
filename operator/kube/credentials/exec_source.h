// Credentials from a program: the thread around CredentialCache. However many calls wait, the program runs once.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "operator/kube/credentials/credential_cache.h"
#include "operator/kube/credentials/credential_source.h"

namespace attune::kube {

class ExecSource final : public CredentialSource {
 public:
  ExecSource(const ClientConfig& config, const TimeSource& time, CommandRunner run);
  ~ExecSource() override;
  ExecSource(const ExecSource&) = delete;
  ExecSource& operator=(const ExecSource&) = delete;

  StatusOr<Credentials> Get(MonotonicTime deadline) override;
  bool Refused(uint64_t number) override;

 private:
  // False when there is no thread for it, which counts as a run that failed.
  bool StartRun() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // On the thread.
  void Run();
  StatusOr<ExecCredential> Ask() const;
  StatusOr<CommandResult> RunProgram() const;
  Credentials Held() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Explained(const Status& status) const;

  const ExecPlugin plugin_;
  const std::string info_;     // KUBERNETES_EXEC_INFO
  const std::string context_;  // for messages
  // Of the client, where the program gives none of its own.
  const std::string certificate_pem_, key_pem_;
  const TimeSource& time_;
  const CommandRunner run_;
  std::atomic<bool> cancelled_{false};
  Mutex mutex_;
  CondVar changed_;
  CredentialCache cache_ ABSL_GUARDED_BY(mutex_);
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t runs_ended_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);  // of the last run; joined before the next
};

}  // namespace attune::kube
