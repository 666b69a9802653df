// attune-sidecar: runs beside every server and worker; everything it needs to know comes through the environment.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/log.h"
#include "base/os/signal_watcher.h"
#include "base/version.h"
#include "sidecar/agent.h"

namespace {

int PrintUsage(std::FILE* stream, int code) {
  std::fputs(
      "attune-sidecar: reports a training process to the operator and to Prometheus\n"
      "Usage: attune-sidecar [--help | --version]\n"
      "The operator starts it beside each server and worker and configures it through ATTUNE_* variables.\n",
      stream);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    const std::string_view argument = argv[1];
    if (argument == "--help") return PrintUsage(stdout, 0);
    if (argument != "--version") return PrintUsage(stderr, 2);
    std::printf("attune-sidecar %s\n", attune::kVersion);
    return 0;
  }
  attune::log::SetProcessName("sidecar");
  auto options = attune::sidecar::AgentOptions::FromEnvironment();
  if (!options.ok()) {
    attune::log::Error("cannot start", {{"reason", options.status()}});
    return 2;
  }
  const attune::SystemTime time;
  auto agent = attune::sidecar::Agent::Create(*std::move(options), time);
  if (!agent.ok()) {
    attune::log::Error("cannot start", {{"reason", agent.status()}});
    return 1;
  }
  std::signal(SIGPIPE, SIG_IGN);
  const auto termination = attune::SignalWatcher::Install({SIGTERM, SIGINT}, [&](int) { (*agent)->Terminate(); });
  if (termination == nullptr) {
    attune::log::Error("cannot start", {{"reason", "no file descriptors left to watch for signals"}});
    return 1;
  }
  (*agent)->Run();
  // All is said and the socket's file is gone. Stopping the metrics server in order would take up to two seconds more.
  std::_Exit(0);
}
