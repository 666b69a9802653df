// What a client shows to the API server with each call, kept fresh: a fixed token or client certificate, a token from a
// file that is rotated, or what a program gives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/os/command.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/credentials/client_config.h"

namespace attune::kube {

struct Credentials {
  std::string token;                     // without surrounding white space; "" = none
  std::string certificate_pem, key_pem;  // of the client; "" = none
  uint64_t number = 0;                   // another one with other credentials, for Refused
};

// Thread-safe.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;

  // Waits, until `deadline`, for a program that has to be asked.
  virtual StatusOr<Credentials> Get(MonotonicTime deadline) = 0;
  // The server answered 401 to the credentials of that number. True when a call that is repeated at once, with what Get
  // gives then, may fare better. Does not block.
  virtual bool Refused(uint64_t number) = 0;
};

using CommandRunner = std::function<StatusOr<CommandResult>(const Command&, const std::atomic<bool>* cancelled)>;

// `time` must outlive it. Programs are run by `run`, on a thread of the source; destruction ends one that is running.
std::unique_ptr<CredentialSource> MakeCredentialSource(const ClientConfig& config, const TimeSource& time,
                                                       CommandRunner run = RunCommand);

}  // namespace attune::kube
