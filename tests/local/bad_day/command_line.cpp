// Words on the command line that are not right: what is allowed is said, and nothing is done.
#include <sys/resource.h>

#include "tests/local/bad_day/bad_day.h"

namespace attune::command_line {
namespace {

Case Refused(std::string name, std::vector<std::string> command, std::vector<std::string> appears) {
  return {std::move(name), {}, std::move(command), 2, std::move(appears), {"Could not convert", "not in range"}};
}

// A good manifest is there, and nothing of it is begun.
Case StartsNothing(std::string name, std::vector<std::string> command, std::vector<std::string> appears) {
  Case refused = Refused(std::move(name), std::move(command), std::move(appears));
  refused.files = {Job(Worker("command: [/bin/true]"))};
  refused.missing = {"attune-runs"};
  return refused;
}

Case Limited(std::string name, std::vector<std::string> command, std::map<int, uint64_t> limits,
             std::vector<std::string> appears) {
  Case limited = StartsNothing(std::move(name), std::move(command), std::move(appears));
  limited.code = 1;
  limited.limits = std::move(limits);
  return limited;
}

Case Unprintable(std::string name, std::vector<std::string> command) {
  Case full = StartsNothing(std::move(name), std::move(command), {"cannot write to standard output"});
  full.code = 1;
  full.surroundings.standard_output = "/dev/full";
  return full;
}

Case WithoutNetwork(std::string name, std::vector<std::string> command, std::vector<std::string> appears) {
  Case alone = StartsNothing(std::move(name), std::move(command), std::move(appears));
  alone.code = 1;
  alone.surroundings.own_network = true;
  return alone;
}

const Case kCases[] = {
    Refused("a misspelled command", {"vaildate", "job.yaml"}, {"there is no command vaildate; did you mean validate?"}),
    Refused("a command of another program", {"ps"}, {"there is no command ps; did you mean get?"}),
    Refused("a command in two words of ours", {"compare", "a", "b"}, {"did you mean runs diff?"}),
    Refused("no command at all", {}, {"attune trains models"}),
    Refused("a command without what it needs", {"run"}, {"see attune run --help"}),
    Refused("an option that does not exist", {"run", "job.yaml", "--nonsense"},
            {"--nonsense", "see attune run --help"}),
    Refused("a pod that is no number", {"logs", "toy", "worker", "x"},
            {"INDEX: \"x\" is not a whole number from 0 to 1023", "see attune logs --help"}),
    Refused("a negative number of lines", {"logs", "toy", "--tail", "-5"},
            {"--tail: \"-5\" is not a whole number of at least 0"}),
    Refused("lines beyond all", {"logs", "toy", "--tail", "99999999999999999999"},
            {"is not a whole number of at least 0"}),
    Refused("a role that does not exist", {"logs", "toy", "wroker"}, {"\"wroker\" is not one of: server, worker"}),
    Refused("a wait of no time", {"stop", "toy", "--timeout", "0"},
            {"--timeout: \"0\" is not a whole number from 1 to 86400"}),
    Refused("a wait with a unit", {"checkpoint", "toy", "--timeout", "5s"},
            {"\"5s\" is not a whole number from 1 to 86400"}),
    Refused("a process that is no number", {"get", "--instance", "toy"},
            {"--instance: \"toy\" is not a whole number from 1 to 2147483647"}),
    Refused("a checkpoint that is no number", {"export", "d", "--format", "npz", "--checkpoint", "newest"},
            {"\"newest\" is not a whole number of at least 1"}),
    Refused("a format that does not exist", {"get", "-o", "xml"}, {"\"xml\" is not one of: json, yaml, name"}),
    Refused("a synchronization mode that does not exist", {"sync", "toy", "fast"},
            {"\"fast\" is no mode; write async", "N from 1 to 1000000"}),
    Refused("a staleness beyond its range", {"sync", "toy", "ssp:99999999"},
            {"a whole number from 1 to 1000000, as ssp:4"}),
    Refused("a scale without a change", {"scale", "toy"}, {"no change is named; write attune scale JOB workers=N"}),
    Refused("a pace without a mode", {"sync"}, {"no mode is named; write attune sync JOB async, bsp or ssp:N"}),
    Refused("a scale to no number", {"scale", "toy", "workers=x"}, {"\"x\" is no number of workers; write workers=N"}),
    Refused("a scale to a negative number", {"scale", "toy", "workers=-1"}, {"\"-1\" is no number of workers"}),
    Refused("a shell without completion", {"completion", "fish"}, {"\"fish\" is not one of: bash, zsh"}),
    Refused("a validation of nothing", {"validate"}, {"FILE is required"}),
    {"a question when nothing runs", {}, {"get"}, 1, {"nothing to talk to", "start one with `attune run FILE`"}},
    {"a tuning mode that does not exist",
     {Job(Worker("command: [/bin/true]"))},
     {"run", "job.yaml", "--tune", "fast"},
     2,
     {"--tune fast: write off, recommend, initial, inplaceonly or auto"},
     {},
     {"attune-runs"}},
    {"a number of cores that is none",
     {Job(Worker("command: [/bin/true]"))},
     {"run", "job.yaml", "--limit-cores-per-pod", "x"},
     2,
     {"\"x\" is no number of cores; write a number of cores from 0.01 to 1024"},
     {},
     {"attune-runs"}},
    Refused("an option that no command has", {"--nonsense"}, {"there is no option --nonsense", "see attune --help"}),
    Refused("a misspelled option", {"stop", "toy", "--timout", "5"},
            {"there is no option --timout here; did you mean --timeout?"}),
    Refused("an option before its command", {"-o", "json", "get"},
            {"there is no option -o here", "see attune get --help"}),
    Refused("words too many", {"get", "a", "b", "c"}, {"not expected: b c"}),
    Refused("an option without its value", {"get", "-o"}, {"--output: 1 required FORMAT missing"}),
    Refused("a job without a name", {"scale", "", "workers=2"}, {"JOB: its value is empty"}),
    Refused("a mode without a name", {"sync", "toy", ""}, {"its value is empty"}),
    Refused("a run of an empty name of a file", {"run", ""}, {"FILE: its value is empty"}),
    StartsNothing("a variable that is not set, as the checkpoint to begin with", {"run", "job.yaml", "--resume", ""},
                  {"--resume: its value is empty; leave the option out, or give it one"}),
    StartsNothing("a variable that is not set, as the name of a run", {"run", "job.yaml", "--name", ""},
                  {"--name: its value is empty"}),
    StartsNothing("a variable that is not set, as the run directory", {"run", "job.yaml", "--run-directory", ""},
                  {"--run-directory: its value is empty"}),
    StartsNothing("a name of a run that is a path", {"run", "job.yaml", "--name", "../x"},
                  {"\"../x\" is no name of a run: write letters, digits"}),
    StartsNothing("a report to the screen of a run", {"run", "job.yaml", "--report", "-"},
                  {"standard output shows the run", "attune report JOB -o -"}),
    StartsNothing("a process for a run that does not exist yet", {"run", "job.yaml", "--instance", "1"},
                  {"--instance names a run that exists, and attune run starts one"}),
    StartsNothing("no runs to keep", {"run", "job.yaml", "--keep", "0"},
                  {"--keep: \"0\" is not a whole number of at least 1"}),
    StartsNothing("runs to keep that are no number", {"run", "job.yaml", "--keep", "few"},
                  {"\"few\" is not a whole number of at least 1"}),
    StartsNothing("cores of a pod that no job has", {"run", "job.yaml", "--limit-cores-per-pod", "wroker=1"},
                  {"\"wroker=1\" names no pod of a job", "0.25,server=0.1,worker-0=0.05"}),
    StartsNothing("cores below none", {"run", "job.yaml", "--limit-cores-per-pod", "-1"},
                  {"a number of cores from 0.01 to 1024"}),
    StartsNothing("cores of pods on a cluster", {"run", "job.yaml", "--context", "c", "--limit-cores-per-pod", "1"},
                  {"is for runs on this machine", "resources.limits.cpu"}),
    StartsNothing("a name of a run on a cluster", {"run", "job.yaml", "--context", "c", "--name", "x"},
                  {"are for runs on this machine", "metadata.name and labels"}),
    StartsNothing("a run directory on a cluster", {"run", "job.yaml", "--context", "c", "--run-directory", "x"},
                  {"--run-directory is for runs on this machine"}),
    StartsNothing("a relative checkpoint on a cluster", {"run", "job.yaml", "--context", "c", "--resume", "x"},
                  {"write the absolute path as the pods see it"}),
    Refused("runs to keep where none is removed", {"runs", "--keep", "2"}, {"--keep goes with rm only"}),
    Refused("a tag where runs are not listed", {"runs", "show", "a", "--tag", "x"}, {"--tag goes with the list only"}),
    Refused("runs to leave that are no number", {"runs", "rm", "--keep", "x"},
            {"--keep: \"x\" is not a whole number of at least 0"}),
    Refused("an action on runs that does not exist", {"runs", "frob"},
            {"\"frob\" is not one of: list, show, diff, rm"}),
    Refused("a run to show that is not named", {"runs", "show"}, {"write: attune runs show RUN"}),
    Refused("one run to compare", {"runs", "diff", "a"}, {"write: attune runs diff RUN RUN"}),
    Refused("a run to remove that is not named", {"runs", "rm"}, {"write: attune runs rm RUN..., or rm --keep N"}),
    Refused("something that the tuner cannot be asked", {"tune", "fast", "toy"},
            {"\"fast\" is nothing that the tuner does", "off, recommend, initial, inplaceonly, auto"}),
    Refused("a knob that does not exist", {"tune", "pin", "speed=2", "toy"},
            {"\"speed\" cannot be pinned; servers, workers, threads, slack, worker-cpu and server-cpu can"}),
    Refused("a knob that does not exist, to be freed", {"tune", "unpin", "toy", "toy"}, {"cannot both be the job"}),
    Refused("a number of servers that is none, to be pinned", {"tune", "pin", "toy", "servers=x"},
            {"\"x\" is no number of servers"}),
    Refused("no threads", {"tune", "pin", "threads=0", "toy"}, {"\"0\" is no value of threads", "from 1 to 256"}),
    Refused("nothing to pin", {"tune", "pin", "toy"}, {"nothing to change"}),
    Refused("a role that cannot be scaled", {"scale", "toy", "workers=2", "servers=1", "pods=3"},
            {"\"pods\" cannot be scaled; write workers=N, servers=N, or worker-cpu"}),
    Refused("a role that is scaled twice", {"scale", "toy", "servers=2", "servers=3"}, {"servers is given twice"}),
    Refused("half a server", {"scale", "toy", "servers=2.5"}, {"\"2.5\" is no number of servers"}),
    Refused("two jobs to scale", {"scale", "toy", "other", "workers=2"},
            {"\"other\" is no change, and the job is toy already"}),
    Refused("a staleness that is not said", {"sync", "toy", "ssp"}, {"\"ssp\" is no mode", "or ssp:N"}),
    Refused("no staleness", {"sync", "toy", "ssp:0"}, {"a whole number from 1 to 1000000, as ssp:4"}),
    Refused("a format that a command does not have", {"explain", "toy", "-o", "yaml"},
            {"\"yaml\" is not one of: json"}),
    Refused("a tuner without its only form", {"tuner"}, {"--jsonl is required", "see attune tuner --help"}),
    Refused("a model without a format", {"export", "d"}, {"--format is required"}),
    Refused("a format of models that does not exist", {"export", "d", "--format", "pickle"},
            {"\"pickle\" is not one of: safetensors, npz, word2vec-text"}),
    {"runs to compare that never were", {}, {"runs", "diff", "a", "b"}, 1, {"there is no run a"}},
    {"a run to continue that never was", {}, {"resume", "a"}, 1, {"there is no run a", "`attune run FILE` starts one"}},
    Unprintable("help that cannot be printed", {"--help"}),
    Unprintable("a judgment that cannot be printed", {"validate", "job.yaml"}),
    Unprintable("completion that cannot be printed", {"completion", "bash"}),
    Unprintable("a version that cannot be printed", {"version", "--client"}),
    Limited("a question with too few open files", {"get", "--kubeconfig", "k"}, {{RLIMIT_NOFILE, 16}},
            {"this command needs up to 64 open files, and 16 are allowed here", "`ulimit -n 1024`"}),
    Limited("a run with too few open files", {"run", "job.yaml"}, {{RLIMIT_NOFILE, 16}},
            {"a run of 2 pods needs up to", "`ulimit -n 1024`"}),
    Limited("a run with too little memory", {"run", "job.yaml"}, {{RLIMIT_AS, 1'000'000ULL << 10}},
            {"`ulimit -v unlimited`"}),
    Limited("a run whose files may hold nothing", {"run", "job.yaml"}, {{RLIMIT_FSIZE, 4096}},
            {"files of at most 4.00 KiB are allowed here", "`ulimit -f unlimited`"}),
    WithoutNetwork("a run whose processes cannot reach each other", {"run", "job.yaml"},
                   {"127.0.0.1: Network is unreachable; the loopback interface is down, `ip link set lo up`"}),
    Refused("follow and detach together", {"run", "job.yaml", "--follow", "--detach"}, {"exclude each other"}),
};

INSTANTIATE_TEST_SUITE_P(CommandLine, BadDay, ::testing::ValuesIn(kCases), CaseName);

}  // namespace
}  // namespace attune::command_line
