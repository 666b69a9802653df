#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cli/doctor/machine_facts.h"
#include "tests/cli/doctor/healthy_cluster.h"

namespace attune::cli::machine_findings_test {
namespace {

using ::testing::HasSubstr;
using Level = Finding::Level;

constexpr uint64_t kGibibyte = 1ULL << 30;

MachineFacts Healthy() {
  return {.version = "1.2.3",
          .cores = 8,
          .memory_bytes = 32 * kGibibyte,
          .memory_available_bytes = 20 * kGibibyte,
          .control_groups_v2 = true,
          .open_files = 65536,
          .unix_seconds = 1'800'000'000,
          .clock_synchronized = true,
          .places = {{.subject = "runs", .path = "/home/a", .free_bytes = 100 * kGibibyte}},
          .programs = {{"attune-server", true}, {"attune-sidecar", true}}};
}

TEST(MachineFindings, OfAMachineThatHasEverythingAllIsWell) {
  for (const Finding& finding : JudgeMachine(Healthy())) {
    EXPECT_EQ(finding.level, Level::kOk) << finding.subject << ": " << finding.seen;
    EXPECT_FALSE(finding.seen.empty()) << finding.subject;
    EXPECT_EQ(finding.mend, "") << finding.subject;
  }
}

TEST(MachineFindings, EachFaultIsNamedOnceWithItsMendAndNothingElseIs) {
  struct Fault {
    const char* what;
    std::function<void(MachineFacts&)> plant;
    const char* subject;
    Level level;
    const char* seen;
    const char* mend;
  };
  const Fault kFaults[] = {
      {"one core", [](auto& f) { f.cores = 1; }, "cores", Level::kWarning, "1 core for", "taskset"},
      {"memory for small jobs only", [](auto& f) { f.memory_available_bytes = kGibibyte / 2; }, "memory",
       Level::kWarning, "512 MiB available of 32.0 GiB", "end what else"},
      {"memory for nothing", [](auto& f) { f.memory_available_bytes = kGibibyte / 8; }, "memory", Level::kProblem,
       "not enough", "smaller tables"},
      {"no right to make control groups",
       [](auto& f) { f.control_groups = Error(StatusCode::kFailedPrecondition, "no right"); }, "control groups",
       Level::kWarning, "version 2: limits of pods are not enforced: no right", "systemd-run --user --scope"},
      {"loopback that is down", [](auto& f) { f.loopback = Error(StatusCode::kFailedPrecondition, "it is down"); },
       "loopback", Level::kProblem, "it is down", "ip link set lo up"},
      {"no port", [](auto& f) { f.port = Error(StatusCode::kUnavailable, "refused"); }, "ports", Level::kProblem,
       "refused", "listen on 127.0.0.1"},
      {"no abstract socket", [](auto& f) { f.abstract_socket = Error(StatusCode::kUnavailable, "not permitted"); },
       "abstract sockets", Level::kWarning, "not permitted: rows travel by TCP", "seccomp"},
      {"no shared memory", [](auto& f) { f.shared_memory = Error(StatusCode::kUnavailable, "not permitted"); },
       "shared memory", Level::kWarning, "rows travel by TCP", "seccomp"},
      {"a directory of instances that is another's",
       [](auto& f) { f.instances = Error(StatusCode::kPermissionDenied, "must be yours"); }, "instances",
       Level::kProblem, "must be yours", "XDG_RUNTIME_DIR"},
      {"few open files", [](auto& f) { f.open_files = 64; }, "open files", Level::kProblem, "64 for a process",
       "ulimit -n"},
      {"a clock that was never set", [](auto& f) { f.unix_seconds = 1000; }, "clock", Level::kProblem, "before 2025",
       "date -s"},
      {"a full disk", [](auto& f) { f.places[0].free_bytes = 1 << 20; }, "runs", Level::kProblem,
       "1.00 MiB free in /home/a", "attune runs rm"},
      {"a disk with little room", [](auto& f) { f.places[0].free_bytes = kGibibyte / 2; }, "runs", Level::kWarning,
       "512 MiB free in /home/a", "attune runs rm"},
      {"a directory that cannot be written",
       [](auto& f) { f.places[0].writable = Error(StatusCode::kPermissionDenied, "read-only"); }, "runs",
       Level::kProblem, "read-only", "make /home/a writable"},
      {"a server program that was not built", [](auto& f) { f.programs[0].second = false; }, "programs",
       Level::kProblem, "neither beside attune nor on the PATH: attune-server", "--target attune-server"}};
  for (const Fault& fault : kFaults) {
    MachineFacts facts = Healthy();
    fault.plant(facts);
    const Findings findings = JudgeMachine(facts);
    const Finding found = About(findings, fault.subject);
    EXPECT_EQ(found.level, fault.level) << fault.what;
    EXPECT_THAT(found.seen, HasSubstr(fault.seen)) << fault.what;
    EXPECT_THAT(found.mend, HasSubstr(fault.mend)) << fault.what;
    EXPECT_EQ(std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.level != Level::kOk; }),
              1)
        << fault.what;
    EXPECT_EQ(HasProblem(findings), fault.level == Level::kProblem) << fault.what;
  }
}

TEST(MachineFindings, WhatCouldNotBeFoundOutIsSaidAndIsNoProblem) {
  MachineFacts facts = Healthy();
  facts.cores = 0;
  facts.memory_bytes.reset();
  facts.clock_synchronized.reset();
  facts.places[0].free_bytes.reset();
  const Findings findings = JudgeMachine(facts);
  EXPECT_FALSE(HasProblem(findings));
  for (const char* subject : {"cores", "memory", "runs", "clock"})
    EXPECT_THAT(About(findings, subject).seen, HasSubstr("not known")) << subject;
}

TEST(MachineFindings, LookingAtThisMachineFindsTheCoresAndMemoryThatItHas) {
  const MachineFacts facts = LookAtMachine();
  EXPECT_GE(facts.cores, 1U);
  ASSERT_TRUE(facts.memory_bytes && facts.memory_available_bytes);
  EXPECT_LE(*facts.memory_available_bytes, *facts.memory_bytes);
  EXPECT_TRUE(facts.port.ok()) << facts.port;
  EXPECT_GT(facts.unix_seconds, 1.6e9);
  EXPECT_EQ(facts.places.size(), 2U);
}

}  // namespace
}  // namespace attune::cli::machine_findings_test
