// What `helm test` asks of an installation: whether its ports answer, and whether a job that was made for it ends well.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/kube/api.h"

namespace attune {

struct InstallCheck {
  std::vector<std::string> ports;  // host:port
  kube::ObjectKey job;             // without a name: none
  int seconds = 300;
};

bool IsWanted(const InstallCheck& check);

// Why it cannot be made; "" when it can.
std::string CheckProblem(const InstallCheck& check);

// How the job has ended, by its conditions: OK, or an error with the reason and the message. Nothing: it has not.
std::optional<Status> EndOf(const kube::Json& job);

// Pauses before another look; false when there is no time left.
using Pause = std::function<bool()>;

// Until each of them has taken a connection. A look takes 5 s at most, beside the time that its name takes.
Status AwaitPorts(const std::vector<std::string>& ports, const Pause& pause);

// Until the job has ended. An API server that does not answer is asked again; a job that does not exist is an error.
Status AwaitJob(kube::Api& api, const kube::ObjectKey& job, const Pause& pause);

}  // namespace attune
