// False successes: none, over the ways in which a worker, a server, an evaluation, a disk or the program itself can
// fail, with real processes. What is made up for by another try is a success, and rightly so: the model is there.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>

#include <cctype>
#include <fstream>

#include "tests/local/cli/job_run.h"

namespace attune::endings_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

struct Setting {
  int servers = 1, backups = 0, backoff_limit = 0;
  std::vector<std::string> words = {};  // more of the command line
};
struct Way {
  std::string name;    // a sentence
  std::string script;  // of the worker's container; $worker WAY $here is the test's program
  std::string reason;  // must be given; for what succeeds: the Event that says what was made up for
  Setting setting = {};
  std::string kills = {};  // pods whose program is killed while the evaluation runs: "counts-server-0 counts-server-1"
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

std::string NameOf(const testing::TestParamInfo<Way>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

class Endings : public JobRun, public testing::WithParamInterface<Way> {
 protected:
  void TearDown() override {
    if (mounted_) umount2((directory_ / "full").c_str(), MNT_DETACH);
    JobRun::TearDown();
  }
  bool MakeSmallDisk() {
    fs::create_directory(directory_ / "full");
    mounted_ = mount("tmpfs", (directory_ / "full").c_str(), "tmpfs", 0, "size=64k") == 0;
    return mounted_;
  }
  void Begin(const Way& way) {
    std::ofstream(directory_ / "worker.sh") << "here=" << directory_.string() << "\nworker=" << ENDING_WORKER << "\n"
                                            << way.script << "\n";
    std::ostringstream manifest;
    manifest << "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: counts}\nspec:\n"
             << "  goal: {epochs: 1}\n  runPolicy: {backoffLimit: " << way.setting.backoff_limit << "}\n"
             << "  servers: {replicas: " << way.setting.servers << ", backups: " << way.setting.backups << "}\n"
             << "  workers:\n    template:\n      spec:\n        containers:\n"
             << "        - {name: worker, image: none, command: [/bin/sh, " << (directory_ / "worker.sh").string()
             << "]}\n";
    StartRun("counts", manifest.str(), way.setting.words);
  }
  // What the way says, once the evaluation has begun.
  void Kill(const std::string& pods) {
    ASSERT_TRUE(AwaitStatus("the evaluation", [&](const Json&) { return fs::exists(directory_ / "evaluating"); }));
    std::istringstream names(pods);
    for (std::string pod; names >> pod;) {
      const pid_t process = ProcessOf(pod, pod.find("server") != std::string::npos ? "attune-server" : "ending_worker");
      ASSERT_NE(process, 0) << pod;
      kill(process, SIGKILL);
    }
    std::ofstream(directory_ / "continue") << "yes";
  }
  bool ModelIsThere() const {
    for (const auto& entry : fs::recursive_directory_iterator(directory_ / "attune-runs")) {
      if (entry.path().filename() == "model.txt" && entry.file_size() > 700'000) return true;
    }
    return false;
  }

 private:
  bool mounted_ = false;
};

class NoFalseSuccess : public Endings {};

TEST_P(NoFalseSuccess, TheJobFailsAndSaysWhy) {
  const Way& way = GetParam();
  if (way.script.find("disk") != std::string::npos && !MakeSmallDisk())
    GTEST_SKIP() << "no right to mount a file system of its own";
  Begin(way);
  if (!way.kills.empty()) Kill(way.kills);
  const Outcome outcome = run_->AwaitEnd(kTimeout);
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr(way.reason));
  EXPECT_THAT(outcome.output, Not(HasSubstr("\"outcome\":\"Succeeded\"")));
  EXPECT_TRUE(Processes("").empty()) << "left behind";
  const Outcome kept = Attune({"get"});
  EXPECT_THAT(kept.output, Not(HasSubstr("Succeeded"))) << "what is kept says the same";
}

const Way kFailures[] = {
    {"a program that takes no part", "exec true", "before the goal was reached"},
    {"a program that links the library and never opens a session", "exec $worker 'never joins' $here",
     "before the goal was reached"},
    {"a worker that leaves as soon as it has joined", "exec $worker 'exit(0) after joining' $here",
     "exited with code 0 before the goal was reached"},
    {"a worker that ends at once in the middle of training", "exec $worker '_exit(0) in training' $here",
     "exited with code 0 before the goal was reached"},
    {"a worker that calls exit in the middle of training", "exec $worker 'exit(0) in training' $here",
     "exited with code 0 before the goal was reached"},
    {"a worker that returns from main in the middle of training", "exec $worker 'returns 0 in training' $here",
     "exited with code 0 before the goal was reached"},
    {"a worker that fails in training", "exec $worker 'an error in training' $here", "the corpus is broken"},
    {"a worker that aborts in training", "exec $worker 'aborts in training' $here", "signal 6"},
    {"a worker that is killed in training", "exec $worker 'is killed in training' $here", "signal 9"},
    {"an evaluation that returns an error", "exec $worker 'an error in the evaluation' $here", "no test data"},
    {"an evaluation that is given up with 0", "exec $worker 'returns 0 in the evaluation' $here",
     "exited with code 0 although the closing work is not done"},
    {"an evaluation that ends at once with 0", "exec $worker '_exit(0) in the evaluation' $here",
     "exited with code 0 although the closing work is not done"},
    {"an evaluation that aborts", "exec $worker 'aborts in the evaluation' $here", "signal 6"},
    {"an evaluation that is killed", "exec $worker 'is killed in the evaluation' $here", "signal 9"},
    {"an evaluation that fails at every try",
     "exec $worker 'an error in the evaluation' $here",
     "the model is not saved",
     {.backoff_limit = 2}},
    {"a full disk when the model is saved", "exec $worker 'saves on a full disk' $here", "no space in"},
    {"a full disk when the model is saved after the session",
     "exec $worker 'closing work after the session' $here # disk", "no space in"},
    {"a shell that hides that its program failed", "$worker 'an error in the evaluation' $here; exit 0",
     "exited with code 0 although the closing work is not done"},
    {"a worker that is killed from outside in its evaluation",
     "exec $worker 'waits in the evaluation' $here",
     "signal 9",
     {},
     "counts-worker-0"},
    {"the only server is killed in the evaluation",
     "exec $worker 'waits in the evaluation' $here",
     "counts-server-0 was killed by signal 9",
     {},
     "counts-server-0"},
    {"a server whose rows are nowhere else is killed in the evaluation",
     "exec $worker 'waits in the evaluation' $here",
     "counts-server-1 was killed by signal 9",
     {.servers = 2},
     "counts-server-1"},
    {"every server is killed in the evaluation, with backups",
     "exec $worker 'waits in the evaluation' $here",
     "was killed by signal 9",
     {.servers = 2, .backups = 1},
     "counts-server-0 counts-server-1"},
    {"server and worker are killed in the evaluation",
     "exec $worker 'waits in the evaluation' $here",
     "was killed by signal 9",
     {},
     "counts-worker-0 counts-server-0"},
};
INSTANTIATE_TEST_SUITE_P(Ways, NoFalseSuccess, testing::ValuesIn(kFailures), NameOf);

class RightSuccess : public Endings {};

TEST_P(RightSuccess, TheJobSucceedsWithItsModel) {
  const Way& way = GetParam();
  if (way.script.find("disk") != std::string::npos && !MakeSmallDisk())
    GTEST_SKIP() << "no right to mount a file system of its own";
  Begin(way);
  if (!way.kills.empty()) Kill(way.kills);
  const Json result = AwaitResult();
  EXPECT_TRUE(ModelIsThere());
  if (!way.kills.empty()) {
    EXPECT_EQ(result.value(Json::json_pointer("/result/metrics/rows"), 0.0), 40) << "every push, once";
  }
  EXPECT_THAT(Attune({"describe", "counts"}).output, HasSubstr(way.reason));
}

// The first try fails in the way that is named, the second is as it should be.
std::string Then(const std::string& first) {
  return "if [ -e $here/second ]; then exec $worker good $here; fi; touch $here/second; exec $worker '" + first +
         "' $here";
}

const Way kSuccesses[] = {
    {"nothing fails", "exec $worker good $here", ""},
    {"a program that takes no part, then one that does",
     "if [ -e $here/second ]; then exec $worker good $here; fi; touch $here/second; exec true",
     "before the goal was reached",
     {.backoff_limit = 1}},
    {"an evaluation that aborts, then one that does not",
     Then("aborts in the evaluation"),
     "signal 6",
     {.backoff_limit = 1}},
    {"an evaluation that is given up, then one that is not",
     Then("returns 0 in the evaluation"),
     "although the closing work is not done",
     {.backoff_limit = 1}},
    {"a full disk, then one with room", Then("saves on a full disk"), "no space in", {.backoff_limit = 1}},
    {"a worker that ends in training, then one that does not",
     Then("_exit(0) in training"),
     "before the goal was reached",
     {.backoff_limit = 1}},
    {"a server with copies elsewhere is killed in the evaluation",
     "exec $worker 'waits in the evaluation' $here",
     "ServerFailed",
     {.servers = 2, .backups = 1, .backoff_limit = 1},
     "counts-server-1"},
    {"the coordinator's server is killed in the evaluation, with backups",
     "exec $worker 'waits in the evaluation' $here",
     "ServerFailed",
     {.servers = 2, .backups = 1, .backoff_limit = 1},
     "counts-server-0"},
    {"the process's own exit code after its work is done", "$worker good $here; exit 0", ""},
};
INSTANTIATE_TEST_SUITE_P(Ways, RightSuccess, testing::ValuesIn(kSuccesses), NameOf);

// The job itself is well, and what was asked of the command besides is not.
TEST_F(Endings, AReportThatCannotBeWrittenAtTheEndIsNoSuccessOfTheCommand) {
  if (!MakeSmallDisk()) GTEST_SKIP() << "no right to mount a file system of its own";
  Begin({"",
         "dd if=/dev/zero of=$here/full/ballast bs=1k count=64 2>/dev/null; exec $worker good $here",
         "",
         {.words = {"--report", (directory_ / "full" / "page.html").string()}}});
  const Outcome outcome = run_->AwaitEnd(kTimeout);
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("\"outcome\":\"Succeeded\"")) << "of the job";
  EXPECT_THAT(outcome.output, HasSubstr("page.html"));
  EXPECT_THAT(outcome.output, HasSubstr("No space left on device"));
  EXPECT_TRUE(ModelIsThere());
}

}  // namespace
}  // namespace attune::endings_test
