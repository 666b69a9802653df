#include "cli/process_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "cli/display/terminal.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();
// A client had 10 descriptors and 0.4 GiB of addresses, a run of four pods 33 and 1.3 GiB, on two cores; more cores
// have more threads. Addresses are not memory: most of them are stacks of threads and arenas that are never touched.
constexpr uint64_t kFilesOfClient = 64, kFilesOfRun = 128, kFilesPerPod = 16;
constexpr uint64_t kAddressesOfClient = 640ULL << 20, kAddressesOfRun = 3ULL << 30;
constexpr uint64_t kFileOfRun = 16ULL << 20;

std::atomic<int> g_standard_error{-1};

uint64_t Value(rlim_t limit) { return limit == RLIM_INFINITY ? kUnlimited : static_cast<uint64_t>(limit); }

// Only async-signal-safe calls.
void OnAbort(int) {
  constexpr std::string_view kText =
      "attune: ended by an internal failure (Aborted). Where the system refused memory, threads or open files, that is "
      "the "
      "reason: look at `ulimit -a`, and raise `ulimit -n` (open files), `ulimit -u` (processes) or `ulimit -v` "
      "(memory). "
      "Else it is a bug of attune; attune.log in the run directory has more.\n";
  RestoreTerminal();
  const int kept = g_standard_error.load();
  [[maybe_unused]] const ssize_t written = write(kept >= 0 ? kept : STDERR_FILENO, kText.data(), kText.size());
}

}  // namespace

uint64_t OpenFilesFor(size_t pods) { return pods == 0 ? kFilesOfClient : kFilesOfRun + kFilesPerPod * pods; }

Status CheckLimits(const ProcessLimits& limits, size_t pods) {
  const std::string what = pods == 0 ? "this command" : "a run of " + std::to_string(pods) + " pods";
  const uint64_t files = OpenFilesFor(pods);
  if (limits.open_files < files) {
    return Error(StatusCode::kFailedPrecondition,
                 what + " needs up to " + std::to_string(files) + " open files, and " +
                     std::to_string(limits.open_files) + " are allowed here: `ulimit -n " +
                     std::to_string(std::max<uint64_t>(files, 1024)) + "` in this shell allows more" +
                     (limits.open_files_most < files
                          ? " (for an administrator: the hard limit is " + std::to_string(limits.open_files_most) + ")"
                          : ""));
  }
  const uint64_t addresses = pods == 0 ? kAddressesOfClient : kAddressesOfRun;
  if (limits.address_space < addresses) {
    return Error(StatusCode::kFailedPrecondition,
                 what + " needs " + api::FormatBytes(addresses) + " of addresses for its threads, and " +
                     api::FormatBytes(limits.address_space) +
                     " are allowed here: `ulimit -v unlimited` in this shell allows more; to bound memory, write "
                     "resources.limits.memory into the pod templates");
  }
  if (pods > 0 && limits.file_size < kFileOfRun) {
    return Error(StatusCode::kFailedPrecondition,
                 what + " writes logs, curves and a model, and files of at most " + api::FormatBytes(limits.file_size) +
                     " are allowed here: `ulimit -f unlimited` in this shell allows more");
  }
  return OkStatus();
}

Status PrepareLimits(size_t pods) {
  ProcessLimits limits{kUnlimited, kUnlimited, kUnlimited};
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    const rlim_t needed = OpenFilesFor(pods);
    if (files.rlim_cur < needed && files.rlim_cur < files.rlim_max) {
      files.rlim_cur = std::min(files.rlim_max, needed);
      setrlimit(RLIMIT_NOFILE, &files);
    }
    limits.open_files = Value(files.rlim_cur);
    limits.open_files_most = Value(files.rlim_max);
  }
  if (rlimit addresses{}; getrlimit(RLIMIT_AS, &addresses) == 0) limits.address_space = Value(addresses.rlim_cur);
  if (rlimit size{}; getrlimit(RLIMIT_FSIZE, &size) == 0) limits.file_size = Value(size.rlim_cur);
  return CheckLimits(limits, pods);
}

void ExplainAborts() {
  struct sigaction action {};
  action.sa_handler = OnAbort;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // abort() ends the process after the handler
  sigaction(SIGABRT, &action, nullptr);
}

void KeepStandardErrorForAborts(int descriptor) { g_standard_error = descriptor; }

}  // namespace attune::cli
