#include "cli/commands/program/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/os/file.h"

namespace attune::cli::completion_test {
namespace {

using ::testing::HasSubstr;

// Sources the script in bash, pretends the words were typed, and returns the suggestions.
std::string Suggest(const std::string& words, int current) {
  const auto file = std::filesystem::temp_directory_path() / ("attune-completion-" + std::to_string(getpid()));
  const std::string script = CompletionScript("bash") + "attune() { echo word2vec; }\nCOMP_WORDS=(" + words +
                             ")\nCOMP_CWORD=" + std::to_string(current) + "\n_attune_words\necho \"${COMPREPLY[@]}\"\n";
  EXPECT_TRUE(WriteFileAtomically(file, script).ok());
  std::string output;
  FILE* pipe = popen(("bash -eu " + file.string() + " 2>&1").c_str(), "r");
  std::array<char, 256> part{};
  while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe) != nullptr) output += part.data();
  EXPECT_EQ(pclose(pipe), 0) << output;
  std::filesystem::remove(file);
  return output;
}

TEST(Completion, SuggestsCommandsJobsAndOptions) {
  EXPECT_THAT(
      Suggest("attune \"\"", 1),
      HasSubstr(
          "init run resume validate simulate get top describe report runs explain policy logs scale sync rows tune "
          "checkpoint move suspend restart spread pack stop inspect export pull-model tuner doctor version "
          "completion"));
  EXPECT_EQ(Suggest("attune sc", 1), "scale\n");
  EXPECT_EQ(Suggest("attune scale w", 2), "word2vec\n");
  EXPECT_EQ(Suggest("attune -n x scale word2vec \"\"", 5),
            "workers= servers= worker-cpu= worker-memory= server-cpu= server-memory=\n");
  EXPECT_EQ(Suggest("attune sync word2vec \"\"", 3), "async bsp ssp:\n");
  EXPECT_EQ(Suggest("attune logs word2vec \"\"", 3), "server worker\n");
  EXPECT_THAT(Suggest("attune logs --f", 2), HasSubstr("--follow"));
  EXPECT_EQ(Suggest("attune export /usr --format s", 4), "safetensors\n");
  EXPECT_THAT(Suggest("attune inspect /us", 2), HasSubstr("/usr"));
  EXPECT_THAT(Suggest("attune get --c", 2), HasSubstr("--context"));
}

TEST(Completion, OffersWhatFitsAndNothingElse) {
  const std::pair<const char*, const char*> kTable[] = {
      {"attune logs ser", "server\n"},
      {"attune sync b", "bsp\n"},
      {"attune move word2vec ser", "server-\n"},
      {"attune pack --only s", "servers\n"},
      {"attune inspect word", "word2vec\n"},
      {"attune get -o \"\"", "json yaml name\n"},
      {"attune run -o \"\"", "json\n"},
      {"attune top -o \"\"", "json\n"},
      {"attune top word", "word2vec\n"},
      {"attune top --interval \"\"", "\n"},
      {"attune doctor -o \"\"", "json\n"},
      {"attune init --tune in", "initial inplaceonly\n"},
      {"attune init -o /us", "/usr\n"},
      {"attune explain -o \"\"", "json\n"},
      {"attune run --tune in", "initial inplaceonly\n"},
      {"attune tune pause \"\"", "word2vec\n"},
      {"attune tune pin \"\"", "servers= workers= threads= slack= worker-cpu= server-cpu=\n"},
      {"attune tune pin servers=2 \"\"", "word2vec\n"},
      {"attune tune pause word2vec \"\"", "\n"},
      {"attune stop word2vec \"\"", "\n"},
      {"attune run --name \"\"", "\n"},
      {"attune runs \"\"", "list show diff rm\n"},
      {"attune runs list \"\"", "\n"},
      {"attune runs diff \"\"", "word2vec\n"},
      {"attune runs diff a b \"\"", "\n"},
      {"attune policy \"\"", "list explain test\n"},
      {"attune policy explain \"\"", "word2vec\n"},
      {"attune policy test /us", "/usr\n"},
      {"attune policy list \"\"", "\n"},
      {"attune policy -o \"\"", "json yaml\n"}};
  for (const auto& [words, want] : kTable) {
    const std::string text = words;
    const auto current = static_cast<int>(std::count(text.begin(), text.end(), ' '));
    EXPECT_EQ(Suggest(text, current), want) << words;
  }
}

TEST(Completion, TheZshScriptUsesTheSameFunctions) {
  const std::string script = CompletionScript("zsh");
  EXPECT_TRUE(script.starts_with("#compdef attune\n"));
  EXPECT_THAT(script, HasSubstr("bashcompinit"));
  EXPECT_THAT(script, HasSubstr("_attune_words() {"));
  if (std::system("command -v zsh >/dev/null") != 0) GTEST_SKIP() << "no zsh here to read it";
  const auto file = std::filesystem::temp_directory_path() / ("attune-completion-zsh-" + std::to_string(getpid()));
  EXPECT_TRUE(WriteFileAtomically(file, script).ok());
  EXPECT_EQ(std::system(("zsh -f -n " + file.string()).c_str()), 0) << "zsh cannot parse it";
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace attune::cli::completion_test
