// Programs that are not there, cannot be started, or not where the manifest says.
#include "tests/local/bad_day/bad_day.h"

namespace attune::programs {
namespace {

const std::vector<std::string> kRun = {"run", "job.yaml", "--plain"};
// No second try: a failed worker fails the job.
constexpr char kOnce[] = "runPolicy: {backoffLimit: 0}";

Case Refused(std::string name, std::vector<GivenFile> files, std::vector<std::string> appears) {
  return {std::move(name), std::move(files), kRun, 2, std::move(appears), {}, {"attune-runs"}};
}

// Begun, and failed.
Case Fails(std::string name, const std::string& pod_spec, std::vector<std::string> appears,
           std::vector<std::string> absent = {}, std::vector<GivenFile> files = {}) {
  files.push_back(Job(pod_spec, kOnce));
  return {std::move(name), std::move(files), kRun, 1, std::move(appears), std::move(absent)};
}

const Case kCases[] = {
    Refused("a program that is nowhere", {Job(Worker("command: [no-such-program]"))},
            {"job.yaml:7:",
             "command[0]: found \"no-such-program\"; allowed: a program of this machine: program "
             "\"no-such-program\" not found; looked in",
             "nothing was started"}),
    Refused("a path that names nothing is not another program of that name",
            {Job(Worker("command: [/opt/nowhere/true]"))},
            {"there is no program /opt/nowhere/true; a path is taken as it is: correct it, or write true alone"}),
    Refused("a relative path that names nothing", {Job(Worker("command: [./worker]"))},
            {"there is no program /", "/worker; a path is taken as it is"}),
    Refused("a file that is not executable", {Job(Worker("command: [./worker]")), {"worker", "#!/bin/sh\n"}},
            {"/worker is no executable file; make it one (chmod +x)"}),
    Refused("a directory as program", {Job(Worker("command: [/bin/]"))}, {"is no executable file"}),
    Refused("an image without a program here", {Job(Worker("image: registry.example/team/no-such:v1"))},
            {"no command is stated", "neither attune-no-such nor no-such is there"}),
    Refused("neither command nor image", {Job(Worker("args: [a]"))}, {"neither command nor image says what to run"}),
    Refused("a program without a name", {Job(Worker("command: [\"\"]"))},
            {"command[0]: found \"\"; allowed: the name or the path of a program"}),
    Refused("a device as program", {Job(Worker("command: [/dev/null]"))}, {"/dev/null is no executable file"}),
    // What the worker's program does.
    Fails(
        "a worker that the kernel killed", Worker("command: [/bin/sh, -c, exit 137]"),
        {"toy-worker-0 was killed by signal 9 (SIGKILL), which no program sends itself: it came from outside, or from "
         "the kernel when memory was short",
         "workers failed once, and runPolicy.backoffLimit allows 0 restarts"}),
    Fails("a worker that crashed", Worker("command: [/bin/sh, -c, exit 139]"), {"was killed by signal 11 (SIGSEGV)"}),
    Fails("a worker that says nothing", Worker("command: [/bin/sh, -c, exit 6]"),
          {"toy-worker-0 exited with code 6; workers failed once"}),
    Fails("a worker whose last words would color the terminal",
          Worker("command: [/bin/sh, -c, 'printf \"\\033[31mred\\007\\n\"; exit 4']"),
          {"exited with code 4", "[31mred"}, {"\033", "\007"}),
    Fails("a worker that takes no part", Worker("command: [/bin/sh, -c, exit 0]"),
          {"toy-worker-0 exited with code 0 before the goal was reached"}),
    Fails("a file of nonsense as program", Worker("command: [./worker]"), {"toy failed after", "worker"}, {},
          {{"worker", "\x01\x02\x03", true}}),
    // Known only when the pod starts.
    {"a program whose place a variable says wrongly",
     {Job(Worker("command: [$(WHERE)/no-such], env: [{name: WHERE, value: /opt}]"), kOnce)},
     kRun,
     1,
     {"toy failed after",
      "could not be started: there is no program /opt/no-such; a path is taken as it is: correct it, or write "
      "no-such alone, which is looked up beside attune and on the PATH"}},
    {"a working directory that is not there",
     {Job(Worker("command: [/bin/true], workingDir: /opt/nowhere"), kOnce)},
     kRun,
     1,
     {"toy failed after", "cannot start in workingDir /opt/nowhere: No such file or directory"}},
    {"a program whose interpreter is not there",
     {Job(Worker("command: [./worker]"), kOnce), {"worker", "#!/opt/nowhere/python\n", true}},
     kRun,
     1,
     {"toy failed after", "cannot start"}},
    {"a run directory on a full disk",
     {Job(Worker("command: [/bin/true]"), kOnce)},
     {"run", "job.yaml", "--plain", "--run-directory", "full/run"},
     1,
     {"No space left on device"},
     {},
     {},
     {},
     true},
    // The worker's last lines are part of what is said.
    {"the environment reaches a program found by a relative path",
     {Job(Worker("command: [./worker], env: [{name: STATED, value: here}]"), kOnce),
      {"worker",
       "#!/bin/sh\necho threads=$OMP_NUM_THREADS devices=$CUDA_VISIBLE_DEVICES stated=$STATED job=$ATTUNE_X\nexit 3\n",
       true}},
     kRun,
     1,
     {"exited with code 3", "threads=5 devices=none stated=here job=\n"},
     {},
     {},
     {{"OMP_NUM_THREADS", "5"}, {"CUDA_VISIBLE_DEVICES", "none"}, {"STATED", "outside"}, {"ATTUNE_X", "outer"}}},
    {"a field without effect here is named once",
     {Job("{nodeSelector: {a: b}, containers: [{name: worker, command: [/bin/false]}]}", kOnce)},
     kRun,
     1,
     {"job.yaml: without effect on this machine: spec.workers.template.spec.nodeSelector\n", "toy failed after"}},
    // Rows of other topics that need programs (false success, several runs) have files of their own.
};

INSTANTIATE_TEST_SUITE_P(Programs, BadDay, ::testing::ValuesIn(kCases), CaseName);

}  // namespace
}  // namespace attune::programs
