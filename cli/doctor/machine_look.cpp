#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/number_text.h"
#include "base/os/cgroup.h"
#include "base/os/file.h"
#include "base/os/file_descriptor.h"
#include "base/time_source.h"
#include "base/version.h"
#include "cli/doctor/machine_facts.h"
#include "cli/runs/jobs.h"
#include "cli/runs/run_directory.h"
#include "operator/local/containers/resource_limits.h"
#include "operator/local/instance.h"
#include "operator/local/nodes/own_addresses.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

Status Failed(const std::string& doing) { return Error(StatusCode::kUnavailable, doing + ": " + ErrnoText(errno)); }

unsigned Cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

// "MemAvailable:   12345 kB"
std::optional<uint64_t> MemoryLine(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    uint64_t kilobytes = 0;
    if (words >> key >> kilobytes && key == name + ":") return kilobytes * 1024;
  }
  return std::nullopt;
}

Status TryControlGroups() {
  const auto made = local::PodLimits::Make(1, "doctor");
  if (!made.ok()) return made.status();
  local::PodLimits limits = *made;
  limits.Remove();
  return OkStatus();
}

Status TryPort() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return Failed("a TCP socket cannot be made");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 1) != 0)
    return Failed("no port of 127.0.0.1 can be listened to");
  return OkStatus();
}

Status TryAbstractSocket() {
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return Failed("a Unix socket cannot be made");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "attune-doctor-" + std::to_string(getpid());
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);  // behind a zero: abstract
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0)
    return Failed("no abstract Unix socket can be made");
  return OkStatus();
}

Status TrySharedMemory() {
  const FileDescriptor memory(::memfd_create("attune-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return Failed("memory without a file cannot be made (memfd_create)");
  if (::ftruncate(memory.get(), 1 << 20) != 0) return Failed("a mebibyte of shared memory cannot be had");
  return OkStatus();
}

// Of the directory itself, or of the nearest one above it that exists.
PlaceFacts LookAtPlace(const std::string& subject, fs::path path) {
  std::error_code error;
  path = fs::absolute(path, error);
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  PlaceFacts place{.subject = subject, .path = path.string()};
  if (::access(path.c_str(), W_OK | X_OK) != 0) place.writable = Failed("cannot write to " + path.string());
  if (const fs::space_info room = fs::space(path, error); !error) place.free_bytes = room.available;
  return place;
}

bool IsThere(const std::string& program) {
  std::error_code error;
  if (fs::exists(ThisProgram().parent_path() / program, error)) return true;
  const char* path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (!directory.empty() && fs::exists(fs::path(directory) / program, error)) return true;
  }
  return false;
}

}  // namespace

MachineFacts LookAtMachine() {
  MachineFacts facts;
  facts.version = kVersion;
  facts.cores = Cores();
  facts.memory_bytes = MemoryLine("MemTotal");
  facts.memory_available_bytes = MemoryLine("MemAvailable");
  facts.control_groups = TryControlGroups();
  facts.control_groups_v2 = IsCgroupV2(kCgroupMount);
  facts.loopback = local::CheckOwnAddresses();
  facts.port = TryPort();
  facts.abstract_socket = TryAbstractSocket();
  facts.shared_memory = TrySharedMemory();
  facts.instances = local::FindInstances().status();
  if (rlimit files{}; getrlimit(RLIMIT_NOFILE, &files) == 0) facts.open_files = files.rlim_max;
  facts.unix_seconds = ToUnixSeconds(SystemTime().WallNow());
  timex state{};
  if (const int clock = adjtimex(&state); clock != -1) facts.clock_synchronized = clock != TIME_ERROR;
  facts.places = {LookAtPlace("runs", kRunsDirectory), LookAtPlace("temporary files", fs::temp_directory_path())};
  for (const char* program : {"attune-server", "attune-sidecar"})
    facts.programs.emplace_back(program, IsThere(program));
  return facts;
}

}  // namespace attune::cli
