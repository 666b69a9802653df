// Words on the command line that are not right: what is allowed is said, and nothing is done.
#include "tests/local/bad_day/bad_day.h"

namespace attune {
namespace {

Case Refused(std::string name, std::vector<std::string> command, std::vector<std::string> appears) {
  return {std::move(name), {}, std::move(command), 2, std::move(appears), {"Could not convert", "not in range"}};
}

const Case kCases[] = {
    Refused("a misspelled command", {"vaildate", "job.yaml"}, {"there is no command vaildate; did you mean validate?"}),
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
    Refused("a scale without a change", {"scale", "toy"}, {"CHANGE is required", "see attune scale --help"}),
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
    Refused("follow and detach together", {"run", "job.yaml", "--follow", "--detach"}, {"exclude each other"}),
};

INSTANTIATE_TEST_SUITE_P(CommandLine, BadDay, ::testing::ValuesIn(kCases), CaseName);

}  // namespace
}  // namespace attune
