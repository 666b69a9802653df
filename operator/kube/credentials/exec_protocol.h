// What is said between this client and a program that gives credentials (client.authentication.k8s.io, kind
// ExecCredential), and what its failures are called. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/os/command.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/credentials/client_config.h"

namespace attune::kube {

inline constexpr char kExecInfoVariable[] = "KUBERNETES_EXEC_INFO";

// What a program gave.
struct ExecCredential {
  std::string token;                     // bearer; or
  std::string certificate_pem, key_pem;  // of the client; or both
  std::optional<WallTime> expires;       // absent: until it is refused
};

// The value of KUBERNETES_EXEC_INFO: standard input is not passed on, and the cluster is described when the kubeconfig
// asks for that.
std::string ExecInfo(const ClientConfig& config);

// From standard output. The error says what is wrong with it and shows nothing of it.
StatusOr<ExecCredential> ParseExecCredential(std::string_view output, const ExecPlugin& plugin);

// OK when the program exited with 0. Otherwise the reason, with the beginning of its standard error.
Status StatusOfRun(const CommandResult& result, const ExecPlugin& plugin, Duration timeout);

// Standard error as one line for people: bounded, and without what looks like a secret, which is the value of a
// variable of the kubeconfig that is named like one, and long words of mixed letters and digits.
std::string ShownErrors(std::string_view errors, const ExecPlugin& plugin);

}  // namespace attune::kube
