#include "cli/doctor/machine_facts.h"
#include "cli/process_limits.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

constexpr uint64_t kMebibyte = 1ULL << 20, kGibibyte = 1ULL << 30;
constexpr double kClockMin = 1'735'689'600;  // 2025: before that a clock was never set

Finding JudgeCores(const MachineFacts& facts) {
  const std::string seen = std::to_string(facts.cores) + (facts.cores == 1 ? " core" : " cores");
  if (facts.cores == 0) return Warning("cores", "their number is not known", "");
  if (facts.cores == 1) {
    return Warning("cores", seen + " for servers and workers together: they run, but not beside each other",
                   "give this process more cores (taskset -p, or the limit of its container)");
  }
  return Ok("cores", seen);
}

Finding JudgeMemory(const MachineFacts& facts) {
  if (!facts.memory_bytes || !facts.memory_available_bytes)
    return Warning("memory", "its size is not known: /proc/meminfo says nothing", "");
  const uint64_t left = *facts.memory_available_bytes;
  const std::string seen = api::FormatBytes(left) + " available of " + api::FormatBytes(*facts.memory_bytes);
  const std::string mend = "end what else needs memory, or train with smaller tables";
  if (left < 256 * kMebibyte) return Problem("memory", seen + ": not enough for a server and a worker", mend);
  if (left < kGibibyte) return Warning("memory", seen + ": enough for small jobs", mend);
  return Ok("memory", seen);
}

Finding JudgeControlGroups(const MachineFacts& facts) {
  const std::string version = facts.control_groups_v2 ? "version 2" : "version 1";
  if (facts.control_groups.ok()) return Ok("control groups", version + ", limits of cpu and memory can be set");
  return Warning("control groups",
                 version + ": limits of pods are not enforced: " + std::string(Message(facts.control_groups)),
                 "run attune as root, or in a scope of your own: systemd-run --user --scope -p Delegate=yes attune run "
                 "...");
}

Finding JudgePlace(const PlaceFacts& place) {
  if (!place.writable.ok())
    return Problem(place.subject, std::string(Message(place.writable)), "make " + place.path + " writable for you");
  if (!place.free_bytes) return Warning(place.subject, "the room in " + place.path + " is not known", "");
  const std::string seen = api::FormatBytes(*place.free_bytes) + " free in " + place.path;
  if (*place.free_bytes < 100 * kMebibyte)
    return Problem(place.subject, seen, "make room there (attune runs rm --keep 5 removes all but the newest runs)");
  if (*place.free_bytes < kGibibyte)
    return Warning(place.subject, seen + ": logs, models and checkpoints are written there",
                   "attune runs rm --keep 5 removes all but the newest runs");
  return Ok(place.subject, seen);
}

Finding JudgeClock(const MachineFacts& facts) {
  if (facts.unix_seconds < kClockMin)
    return Problem("clock", "it says a time before 2025; runs are named and sorted by it",
                   "set it: date -s, or start a time service");
  if (!facts.clock_synchronized) return Ok("clock", "set; whether it is kept in step is not known");
  if (*facts.clock_synchronized) return Ok("clock", "set, and kept in step by the kernel");
  return Ok("clock", "set; nothing keeps it in step, which matters to runs of several machines alone");
}

Finding JudgeOpenFiles(const MachineFacts& facts) {
  constexpr size_t kPods = 8;  // a job of usual size
  const std::string seen = std::to_string(facts.open_files) + " for a process";
  if (facts.open_files >= OpenFilesFor(kPods)) return Ok("open files", seen);
  return Problem("open files", seen + ", and a job of 8 pods needs " + std::to_string(OpenFilesFor(kPods)),
                 "ulimit -n " + std::to_string(OpenFilesFor(kPods)));
}

Finding JudgePrograms(const MachineFacts& facts) {
  std::string there, missing;
  for (const auto& [name, found] : facts.programs) {
    std::string& names = found ? there : missing;
    names += (names.empty() ? "" : ", ") + name;
  }
  if (missing.empty()) return Ok("programs", there);
  return Problem("programs", "neither beside attune nor on the PATH: " + missing,
                 "cmake --build build/release --target " + missing.substr(0, missing.find(',')) +
                     ", or install the whole of it: cmake --install build/release");
}

Finding JudgeStatus(const std::string& subject, const Status& status, const std::string& good,
                    const std::string& mend) {
  return status.ok() ? Ok(subject, good) : Problem(subject, std::string(Message(status)), mend);
}

}  // namespace

Findings JudgeMachine(const MachineFacts& facts) {
  Findings findings = {Ok("attune", facts.version), JudgePrograms(facts),      JudgeCores(facts),
                       JudgeMemory(facts),          JudgeControlGroups(facts), JudgeOpenFiles(facts)};
  findings.push_back(
      JudgeStatus("loopback", facts.loopback, "processes reach each other at 127.0.0.1", "ip link set lo up"));
  findings.push_back(JudgeStatus("ports", facts.port, "ports of 127.0.0.1 can be listened to",
                                 "allow this process to listen on 127.0.0.1 (container, seccomp, ulimit)"));
  // Without either, rows travel by TCP.
  for (const auto& [subject, status] :
       {std::pair("abstract sockets", &facts.abstract_socket), {"shared memory", &facts.shared_memory}}) {
    findings.push_back(status->ok()
                           ? Ok(subject, "processes of this machine share memory")
                           : Warning(subject, std::string(Message(*status)) + ": rows travel by TCP, which is slower",
                                     "allow it (seccomp profile or security module of the container)"));
  }
  for (const PlaceFacts& place : facts.places) findings.push_back(JudgePlace(place));
  findings.push_back(JudgeStatus("instances", facts.instances, "runs on this machine find each other",
                                 "set XDG_RUNTIME_DIR to a directory of yours with mode 0700"));
  findings.push_back(JudgeClock(facts));
  return findings;
}

}  // namespace attune::cli
