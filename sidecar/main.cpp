// attune-sidecar: runs beside every server and worker; everything it needs to know comes through the environment. As
// `attune-sidecar files` it is a reader in a pod of its own: the image is there wherever a job is.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/os/signal_watcher.h"
#include "base/version.h"
#include "sidecar/agent.h"
#include "sidecar/files/file_reader.h"

namespace {

int PrintUsage(std::FILE* stream, int code) {
  std::fputs(
      "attune-sidecar: reports a training process to the operator and to Prometheus\n"
      "Usage: attune-sidecar [--help | --version]\n"
      "       attune-sidecar files --directory DIR --port PORT --token-sha256 HEX --idle-seconds N\n"
      "The operator starts it beside each server and worker and configures it through ATTUNE_* variables.\n"
      "With files it shows the files below DIR over HTTP, read-only, to the caller that knows the token, and\n"
      "ends after N seconds without a request: `attune pull-model` starts it so in a pod of its own.\n",
      stream);
  return code;
}

int RunFiles(const std::vector<std::string>& arguments) {
  const auto options = attune::sidecar::ReaderOptions::Parse(arguments);
  if (!options.ok()) {
    std::fprintf(stderr, "attune-sidecar: %s\n", std::string(attune::Message(options.status())).c_str());
    return 2;
  }
  attune::Mutex mutex;
  attune::CondVar changed;
  bool ending = false;
  const auto termination = attune::SignalWatcher::Install({SIGTERM, SIGINT}, [&](int) {
    attune::MutexLock lock(mutex);
    ending = true;
    changed.NotifyAll();
  });
  if (termination == nullptr) {
    attune::log::Error("cannot start", {{"reason", "no file descriptors left to watch for signals"}});
    return 1;
  }
  const attune::SystemTime time;
  return attune::sidecar::RunFileReader(*options, time, [&](attune::Duration wait) {
    attune::MutexLock lock(mutex);
    changed.WaitFor(mutex, wait, [&] { return ending; });
    return ending;
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    const std::string_view argument = argv[1];
    if (argument == "files") return RunFiles({argv + 2, argv + argc});
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
