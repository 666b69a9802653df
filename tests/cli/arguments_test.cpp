#include "cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/cli/golden.h"

namespace attune::cli::arguments_test {
namespace {

using ::testing::HasSubstr;

// The recorded texts lie by the headings of the program's help, as the commands do (cli/commands/).
std::string HelpFile(const CommandWords& command) {
  static const std::map<std::string, std::string> kDirectories = {{"To train", "running"},
                                                                  {"To look", "looking"},
                                                                  {"To change what runs", "steering"},
                                                                  {"Models", "models"},
                                                                  {"This program", "program"}};
  const auto at = kDirectories.find(command.group);
  EXPECT_NE(at, kDirectories.end()) << command.name << " stands below no heading: " << command.group;
  return "help/" + (at == kDirectories.end() ? "" : at->second + "/") + command.name + ".txt";
}

TEST(Arguments, HelpOfTheProgramAndOfEveryCommand) {
  const ParsedArguments help = ParseArguments({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  ExpectGolden(help.text, "attune-help.txt");
  for (const CommandWords& command : AllCommandWords()) {
    if (command.name.empty()) continue;
    const ParsedArguments of_command = ParseArguments({command.name, "--help"});
    EXPECT_EQ(of_command.exit_code, 0);
    ExpectGolden(of_command.text, HelpFile(command));
  }
}

TEST(Arguments, NothingAtAllPrintsTheHelpAsAnError) {
  const ParsedArguments parsed = ParseArguments({});
  EXPECT_EQ(parsed.exit_code, 2);
  EXPECT_THAT(parsed.text, HasSubstr("attune trains models"));
}

TEST(Arguments, GlobalOptionsMayStandBeforeAndAfterTheCommand) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--context", "c", "-n", "m", "get", "j"},
                                                std::vector<std::string>{"get", "j", "-n", "m", "--context", "c"}}) {
    const ParsedArguments parsed = ParseArguments(words);
    ASSERT_TRUE(parsed.arguments.has_value()) << parsed.text;
    EXPECT_EQ(parsed.arguments->target.context, "c");
    EXPECT_EQ(parsed.arguments->target.name_space, "m");
    EXPECT_EQ(std::get<GetArguments>(parsed.arguments->command).job, "j");
  }
}

TEST(Arguments, ThePortOfADashboardIsPartOfTheOptionOrChosen) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {{{"run", "job.yaml"}, ""},
                                                                    {{"run", "--dashboard", "job.yaml"}, "0"},
                                                                    {{"run", "job.yaml", "--dashboard"}, "0"},
                                                                    {{"run", "--dashboard=8080", "job.yaml"}, "8080"}};
  for (const auto& [words, want] : cases) {
    const ParsedArguments parsed = ParseArguments(words);
    ASSERT_TRUE(parsed.arguments.has_value()) << parsed.text;
    const auto& run = std::get<RunArguments>(parsed.arguments->command);
    EXPECT_EQ(run.dashboard, want);
    EXPECT_EQ(run.file, "job.yaml");
  }
  for (const char* wrong : {"--dashboard=65536", "--dashboard=-1", "--dashboard=x"}) {
    const ParsedArguments parsed = ParseArguments({"run", wrong, "job.yaml"});
    EXPECT_EQ(parsed.exit_code, 2) << wrong;
    EXPECT_THAT(parsed.text, HasSubstr("not a whole number from 0 to 65535")) << wrong;
  }
}

TEST(Arguments, LogsOfOneWorker) {
  const ParsedArguments parsed = ParseArguments({"logs", "j", "worker", "0", "--follow", "--tail", "20", "-p"});
  ASSERT_TRUE(parsed.arguments.has_value()) << parsed.text;
  const auto& logs = std::get<LogsArguments>(parsed.arguments->command);
  EXPECT_EQ(logs.role, "worker");
  EXPECT_EQ(logs.index, 0U);
  EXPECT_EQ(logs.tail, 20);
  EXPECT_TRUE(logs.follow && logs.previous);
}

TEST(Arguments, AJobMayBeLeftOutOfEveryCommandThatTakesOne) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"describe"},
                                                {"report"},
                                                {"explain"},
                                                {"logs"},
                                                {"logs", "worker", "0"},
                                                {"checkpoint"},
                                                {"stop"},
                                                {"scale", "workers=3"},
                                                {"sync", "bsp"},
                                                {"rows", "static"},
                                                {"tune", "pause"},
                                                {"resume"}}) {
    EXPECT_TRUE(ParseArguments(words).arguments.has_value()) << words.front() << ": " << ParseArguments(words).text;
  }
  const ParsedArguments parsed = ParseArguments({"logs", "worker", "3"});
  const auto& logs = std::get<LogsArguments>(parsed.arguments->command);
  EXPECT_EQ(logs.job, "");
  EXPECT_EQ(logs.role, "worker");
  EXPECT_EQ(logs.index, 3U);
}

TEST(Arguments, HelpAndVersionAreFoundWhereOtherProgramsHaveThem) {
  EXPECT_EQ(ParseArguments({"help"}).text, ParseArguments({"--help"}).text);
  EXPECT_EQ(ParseArguments({"help"}).exit_code, 0);
  EXPECT_EQ(ParseArguments({"help", "run"}).text, ParseArguments({"run", "--help"}).text);
  EXPECT_TRUE(std::holds_alternative<VersionArguments>(ParseArguments({"--version"}).arguments->command));
}

TEST(Arguments, RunForPrograms) {
  const ParsedArguments parsed = ParseArguments({"run", "job.yaml", "-o", "json", "--run-directory", "d"});
  ASSERT_TRUE(parsed.arguments.has_value()) << parsed.text;
  const auto& run = std::get<RunArguments>(parsed.arguments->command);
  EXPECT_TRUE(run.json);
  EXPECT_FALSE(run.detach);
  EXPECT_EQ(run.run_directory, "d");
}

TEST(Arguments, ARunIsNamedTaggedAndContinued) {
  const ParsedArguments parsed =
      ParseArguments({"run", "job.yaml", "--name", "fast", "--tag", "a", "--tag", "b", "--keep", "20"});
  ASSERT_TRUE(parsed.arguments.has_value()) << parsed.text;
  const auto& run = std::get<RunArguments>(parsed.arguments->command);
  EXPECT_EQ(run.name, "fast");
  EXPECT_EQ(run.tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(run.keep, 20U);
  EXPECT_EQ(run.words.size(), 10U) << "as typed, for the record";
  const ParsedArguments again = ParseArguments({"resume", "fast", "--detach", "-o", "json"});
  ASSERT_TRUE(again.arguments.has_value()) << again.text;
  const auto& resume = std::get<ResumeArguments>(again.arguments->command);
  EXPECT_EQ(resume.run, "fast");
  EXPECT_TRUE(resume.with.detach && resume.with.json);
}

TEST(Arguments, RunsAndReportsOfSeveral) {
  const ParsedArguments parsed = ParseArguments({"runs", "diff", "a", "b"});
  ASSERT_TRUE(parsed.arguments.has_value()) << parsed.text;
  EXPECT_EQ(std::get<RunsArguments>(parsed.arguments->command).runs, (std::vector<std::string>{"a", "b"}));
  ASSERT_TRUE(ParseArguments({"runs"}).arguments.has_value());
  const ParsedArguments report = ParseArguments({"report", "a", "b", "-o", "-"});
  ASSERT_TRUE(report.arguments.has_value()) << report.text;
  EXPECT_EQ(std::get<ReportArguments>(report.arguments->command).output, "-");
  EXPECT_EQ(std::get<ReportArguments>(report.arguments->command).jobs.size(), 2U);
}

TEST(Arguments, PoliciesListedExplainedAndTried) {
  const auto parse = [](const std::vector<std::string>& words) {
    const ParsedArguments parsed = ParseArguments(words);
    EXPECT_TRUE(parsed.arguments.has_value()) << parsed.text;
    return std::get<PolicyArguments>(parsed.arguments->command);
  };
  EXPECT_EQ(parse({"policy"}).action, "list");
  EXPECT_TRUE(parse({"policy", "-A"}).all_namespaces);
  EXPECT_EQ(parse({"policy", "list", "-o", "yaml"}).output, "yaml");
  EXPECT_EQ(parse({"policy", "explain", "j"}).what, "j");
  EXPECT_EQ(parse({"policy", "explain"}).what, "");
  EXPECT_EQ(parse({"policy", "test", "-", "-o", "json"}).what, "-");
}

TEST(Arguments, MistakesEndWithTwoAndNameTheHelp) {
  const std::pair<std::vector<std::string>, const char*> kTable[] = {
      {{"run"}, "see attune run --help"},
      {{"run", "f", "--follow", "--detach"}, "see attune run --help"},
      {{"get", "-o", "xml"}, "json"},
      {{"logs", "j", "chief"}, "see attune logs --help"},
      {{"logs", "j", "worker", "-1"}, "\"-1\" is not a whole number from 0 to 1023"},
      {{"stop", "j", "--timeout", "5s"}, "\"5s\" is not a whole number from 1 to 86400"},
      {{"completion", "fish"}, "bash"},
      {{"run", "f", "--keep", "0"}, "see attune run --help"},
      {{"runs", "fly"}, "list, show, diff, rm"},
      {{"policy", "apply", "f"}, "\"apply\" is not one of: list, explain, test"},
      {{"policy", "list", "-o", "name"}, "json, yaml"},
      {{"policy", "test", "f", "g"}, "not expected: g"},
      {{"run", "--dashboard", "8080", "f"}, "not expected: f; a value of --dashboard is written with an equals sign: "},
      {{"watch"}, "did you mean top?"},
      {{"tpo"}, "did you mean top?"},
      {{"docotr"}, "did you mean doctor?"},
      {{"diagnose"}, "did you mean doctor?"},
      {{"inti"}, "did you mean init?"},
      {{"new"}, "did you mean init?"},
      {{"top", "--intervall", "3"}, "did you mean --interval?"},
      {{"top", "--interval", "0"}, "see attune top --help"},
      {{"top", "-o", "yaml"}, "\"yaml\" is not one of: json"},
      {{"doctor", "me"}, "not expected: me"},
      {{"init", "--workers", "0"}, "see attune init --help"},
      {{"init", "--epochs", "1.5"}, "see attune init --help"},
      {{"policies"}, "did you mean policy list?"},
      {{"fly"}, "there is no command fly"},
      {{"scael", "j"}, "did you mean scale?"}};
  for (const auto& [words, want] : kTable) {
    const ParsedArguments parsed = ParseArguments(words);
    EXPECT_FALSE(parsed.arguments.has_value()) << want;
    EXPECT_EQ(parsed.exit_code, 2) << want;
    EXPECT_THAT(parsed.text, HasSubstr(want));
  }
}

}  // namespace
}  // namespace attune::cli::arguments_test
