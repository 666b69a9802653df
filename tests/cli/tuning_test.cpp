#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/display/explanation.h"
#include "cli/display/job/job_json.h"
#include "cli/display/job/render.h"
#include "cli/requests/job_words.h"
#include "cli/requests/tune_request.h"
#include "cli/runs/jobs.h"
#include "cli/runs/run_directory.h"
#include "operator/controller/tuning/tuning_loop.h"

namespace attune::cli::tuning_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

api::TrainingJob Job() {
  api::TrainingJob job;
  job.name = "a";
  job.spec.servers.replicas = job.spec.workers.replicas = 2;
  job.status.abilities = api::Abilities{.elastic_servers = true, .synchronization_modes = true};
  return job;
}

TEST(TuneRequest, EachWordChangesWhatItSays) {
  const auto patch = [](const char* action, const char* settings) {
    const auto request = MakeTuneRequest(Job(), action, settings);
    return request.ok() ? request->patch.dump() : std::string(Message(request.status()));
  };
  EXPECT_EQ(patch("pause", ""), R"({"spec":{"tuning":{"paused":true}}})");
  EXPECT_EQ(patch("resume", ""), R"({"spec":{"tuning":{"paused":false}}})") << "what is pinned stays so";
  EXPECT_EQ(patch("unpin", ""), R"({"spec":{"tuning":{"serverCpu":{"pinned":null},"servers":{"pinned":null},)"
                                R"("slack":{"pinned":null},"threads":{"pinned":null},"workerCpu":{"pinned":null},)"
                                R"("workers":{"pinned":null}}}})");
  EXPECT_EQ(patch("unpin", "servers,slack"),
            R"({"spec":{"tuning":{"servers":{"pinned":null},"slack":{"pinned":null}}}})");
  EXPECT_THAT(patch("unpin", "loss"),
              HasSubstr("\"loss\" cannot be pinned; servers, workers, threads, slack, worker-cpu "
                        "and server-cpu can"));
  EXPECT_EQ(patch("pin", "worker-cpu=1500m"), R"({"spec":{"tuning":{"workerCpu":{"pinned":"1500m"}},)"
                                              R"("workers":{"resources":{"cpu":{"target":"1500m"}}}}})");
  EXPECT_EQ(patch("unpin", "worker-cpu"), R"({"spec":{"tuning":{"workerCpu":{"pinned":null}}}})");
  EXPECT_THAT(patch("pin", "worker-memory=1Gi"), HasSubstr("\"worker-memory\" cannot be pinned"));
  EXPECT_EQ(patch("inPlaceOnly", ""), R"({"spec":{"tuning":{"mode":"InPlaceOnly"}}})");
  EXPECT_EQ(patch("pin", "servers=3"), R"({"spec":{"servers":{"replicas":3},"tuning":{"servers":{"pinned":3}}}})");
  EXPECT_EQ(patch("pin", "slack=bsp"), R"({"spec":{"synchronization":{"mode":"BSP","staleness":null},)"
                                       R"("tuning":{"slack":{"pinned":0}}}})");
  EXPECT_EQ(patch("pin", "slack=0"), patch("pin", "slack=bsp"));
  EXPECT_EQ(patch("pin", "slack=ssp:4"), R"({"spec":{"synchronization":{"mode":"SSP","staleness":4},)"
                                         R"("tuning":{"slack":{"pinned":4}}}})");
  EXPECT_EQ(patch("pin", "threads=2,workers=4"), R"({"spec":{"tuning":{"threads":{"pinned":2},"workers":{"pinned":4}},)"
                                                 R"("workers":{"replicas":4,"threads":2}}})");
  EXPECT_THAT(patch("pin", "threads=0"), HasSubstr("a number from 1 to 256"));
  EXPECT_THAT(patch("pin", "slack=sometimes"), HasSubstr("bsp, ssp:N, async, or a number"));
  EXPECT_THAT(patch("pin", "servers=3,workers=99"), HasSubstr("outside what job a allows"));
  EXPECT_THAT(patch("pin", ""), HasSubstr("nothing to change"));
  EXPECT_THAT(patch("pause", "servers=3"), HasSubstr("goes with pin only"));
  EXPECT_THAT(patch("faster", ""), HasSubstr("nothing that the tuner does"));
}

TEST(TuneRequest, WhatNoJobCouldTakeIsKnownWithoutOne) {
  EXPECT_THAT(std::string(Message(CheckTuneWords("faster", ""))), HasSubstr("nothing that the tuner does"));
  EXPECT_THAT(std::string(Message(CheckTuneWords("pin", "foo=2"))), HasSubstr("\"foo\" cannot be pinned"));
  EXPECT_THAT(std::string(Message(CheckTuneWords("pin", "servers=x"))), HasSubstr("no number of servers"));
  EXPECT_FALSE(CheckTuneWords("pin", "").ok());
  EXPECT_TRUE(CheckTuneWords("pin", "servers=900,workers=3,slack=ssp:4").ok());
  EXPECT_TRUE(CheckTuneWords("unpin", "").ok());
}

TEST(TuneRequest, WhatIsWithoutEffectYetSaysSo) {
  api::TrainingJob job = Job();
  EXPECT_THAT(MakeTuneRequest(job, "pause", "")->answer,
              HasSubstr("but tuning is off: `attune tune auto a` turns it on"));
  EXPECT_THAT(MakeTuneRequest(job, "resume", "")->answer, HasSubstr("but tuning is off"));
  EXPECT_EQ(MakeTuneRequest(job, "auto", "")->answer, "tuning Auto");
  job.spec.tuning.paused = true;
  EXPECT_EQ(MakeTuneRequest(job, "auto", "")->answer,
            "tuning Auto; but it is paused: `attune tune resume a` continues it");
  EXPECT_EQ(MakeTuneRequest(job, "off", "")->answer, "tuning Off");
}

TEST(TuneRequest, ResumingAndFreeingSayWhatIsPinned) {
  api::TrainingJob job = Job();
  job.spec.tuning.mode = api::TuningMode::kAuto;
  EXPECT_EQ(MakeTuneRequest(job, "resume", "")->answer, "the tuner continues");
  EXPECT_EQ(MakeTuneRequest(job, "unpin", "")->answer, "nothing was pinned");
  job.spec.tuning.servers.pinned = 2;
  job.spec.tuning.slack.pinned = 0;
  EXPECT_THAT(MakeTuneRequest(job, "resume", "")->answer, HasSubstr("servers=2, slack=bsp stays pinned until"));
  EXPECT_THAT(MakeTuneRequest(job, "unpin", "")->answer, HasSubstr("it was servers=2, slack=bsp"));
}

TEST(TuneRequest, ThreadsThatAProgramMayRefuseCanBeTakenBack) {
  api::TrainingJob job = Job();
  EXPECT_TRUE(MakeTuneRequest(job, "pin", "servers=2")->undo.is_null());
  EXPECT_EQ(MakeTuneRequest(job, "pin", "threads=2")->undo.dump(),
            R"({"spec":{"tuning":{"threads":{"pinned":null}},"workers":{"threads":null}}})");
  job.spec.worker_threads = 3;
  EXPECT_EQ(MakeTuneRequest(job, "pin", "threads=2")->undo["spec"]["workers"]["threads"], 3);
}

TEST(TuneWords, BothOrdersAreUnderstood) {
  const auto sorted = [](const std::vector<std::string>& words) {
    const auto found = SortTuneWords(words);
    return found.ok() ? found->action + "|" + found->settings + "|" + found->job : std::string(Message(found.status()));
  };
  EXPECT_EQ(sorted({"pin", "servers=2", "a"}), "pin|servers=2|a");
  EXPECT_EQ(sorted({"pin", "a", "servers=2"}), "pin|servers=2|a");
  EXPECT_EQ(sorted({"pin", "a", "servers=2", "slack=bsp"}), "pin|servers=2,slack=bsp|a");
  EXPECT_EQ(sorted({"a", "pin", "servers=2"}), "pin|servers=2|a");
  EXPECT_EQ(sorted({"pause", "a"}), "pause||a");
  EXPECT_EQ(sorted({"a", "pause"}), "pause||a");
  EXPECT_EQ(sorted({"auto", "auto"}), "auto||auto") << "a job may be called so";
  EXPECT_EQ(sorted({"unpin", "a"}), "unpin||a");
  EXPECT_EQ(sorted({"unpin", "servers", "a"}), "unpin|servers|a");
  EXPECT_EQ(sorted({"unpin", "a", "servers,slack"}), "unpin|servers,slack|a");
  EXPECT_EQ(sorted({"pin", "servers=2"}), "pin|servers=2|") << "of the only job";
  EXPECT_EQ(sorted({"pause"}), "pause||");
  EXPECT_EQ(sorted({"unpin"}), "unpin||");
  EXPECT_EQ(sorted({"unpin", "servers"}), "unpin|servers|");
  EXPECT_THAT(sorted({"pause", "a", "b"}), HasSubstr("\"a\" and \"b\" cannot both be the job"));
}

TEST(TuneRequest, APaceThatTheServersCannotKeepIsNotPinned) {
  api::TrainingJob job = Job();
  job.status.abilities->synchronization_modes = false;
  const auto request = MakeTuneRequest(job, "pin", "slack=bsp");
  EXPECT_EQ(request.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(request.status())), HasSubstr("cannot switch the mode"));
}

TEST(TuneRequest, AJobThatHasEndedIsNotTuned) {
  api::TrainingJob job = Job();
  job.status.conditions.push_back({.type = api::kSucceeded, .status = "True"});
  EXPECT_EQ(MakeTuneRequest(job, "pause", "").status().code(), StatusCode::kFailedPrecondition);
}

TEST(TuningMode, IsReadInAnyCase) {
  EXPECT_EQ(ParseTuningMode("auto"), api::TuningMode::kAuto);
  EXPECT_EQ(ParseTuningMode("INPLACEONLY"), api::TuningMode::kInPlaceOnly);
  EXPECT_FALSE(ParseTuningMode("").has_value());
}

struct TunedJob {
  api::TrainingJob job;
  std::string saved;  // what the tuner keeps
};

// A job that was tuned for a while: workers help, servers hardly.
TunedJob Tuned() {
  tuner::PriorCache priors;
  controller::TuningLoop loop;
  controller::TuningInput input;
  input.policy.mode = api::TuningMode::kAuto;
  input.goal.steps = 1'000'000;
  input.wanted = {1, 1};
  input.low = {1, 1};
  input.high = {2, 4};
  input.elastic_servers = input.training = input.settled = true;
  TunedJob tuned{.job = Job(), .saved = ""};
  api::TrainingJob& job = tuned.job;
  job.spec.tuning.mode = api::TuningMode::kAuto;
  job.status.start_time = "2027-01-15T08:00:00Z";
  for (int second = 0; second < 120; ++second) {
    input.time += 1;
    input.steps += static_cast<uint64_t>(100 * input.wanted.workers);
    const controller::TuningOutput output = loop.Step(input, priors);
    if (output.change) {
      input.wanted = *output.change;
      ++input.generation;
    }
    job.status.tuning = output.status;
    tuned.saved = output.state;
  }
  return tuned;
}

TEST(Explain, TellsTheDecisionsInWordsAndNumbers) {
  const TunedJob tuned = Tuned();
  const auto explanation = Explain(tuned.job, tuned.saved, true);
  ASSERT_TRUE(explanation.ok()) << Message(explanation.status());
  EXPECT_THAT(explanation->text, HasSubstr("a: tuning Auto, "));
  EXPECT_THAT(explanation->text, HasSubstr("\n1. At "));
  EXPECT_THAT(explanation->text, HasSubstr("Predicted "));
  EXPECT_THAT(explanation->text, HasSubstr("Best settings as believed now (of 8):"));
  EXPECT_THAT(explanation->text, HasSubstr("Remaining: about "));
  EXPECT_EQ(explanation->json["mode"], "Auto");
  ASSERT_GE(explanation->json["decisions"].size(), 1U);
  const kube::Json& decision = explanation->json["decisions"][0];
  EXPECT_TRUE(decision["elapsedSeconds"].is_number());
  EXPECT_EQ(decision["time"], TimeText(1'800'000'000 + decision["elapsedSeconds"].get<double>()))
      << "as everywhere else";
  EXPECT_EQ(explanation->json["model"].size(), 8U);
  const auto brief = Explain(tuned.job, tuned.saved, false);
  ASSERT_TRUE(brief.ok());
  EXPECT_FALSE(brief->json.contains("model"));
}

TEST(Explain, SaysWhatIsWrongNow) {
  const TunedJob tuned = Tuned();
  EXPECT_THAT(Explain(tuned.job, tuned.saved, false)->text, Not(HasSubstr("Wrong now")));
  EXPECT_EQ(Explain(tuned.job, tuned.saved, false)->json["findings"], kube::Json::array());
  kube::Json state = kube::Json::parse(tuned.saved);
  state["findings"] =
      R"([{"symptom": "StragglingWorker", "remedy": "MovePod", "node": 1, "text": "worker 1 takes 3 times as long"}])";
  const auto explanation = Explain(tuned.job, state.dump(), false);
  ASSERT_TRUE(explanation.ok());
  EXPECT_THAT(explanation->text,
              HasSubstr("Wrong now:\n  StragglingWorker: worker 1 takes 3 times as long (asks for: MovePod)\n"));
  EXPECT_EQ(explanation->json["findings"].size(), 1U);
}

TEST(Explain, OfAJobThatHasEndedNothingIsNow) {
  for (const char* phase : {"Succeeded", "Interrupted", "Lost"}) {
    auto [job, saved] = Tuned();
    job.status.phase = phase;
    if (std::string(phase) == "Succeeded") job.status.conditions.push_back({.type = api::kSucceeded, .status = "True"});
    const auto explanation = Explain(job, saved, false);
    ASSERT_TRUE(explanation.ok()) << Message(explanation.status());
    for (const char* present : {"Remaining", "Now:", "so far", "Keeping", "Wrong now"})
      EXPECT_THAT(explanation->text, Not(HasSubstr(present))) << phase;
    EXPECT_THAT(explanation->text, HasSubstr("; the job has ended\n"));
    EXPECT_THAT(explanation->text, HasSubstr("\n1. At "));
    EXPECT_FALSE(explanation->json.contains("remaining"));
    EXPECT_EQ(explanation->json["ended"], true);
  }
}

TEST(Explain, AJobWhoseTuningIsOffStillTellsWhatWasDone) {
  auto [job, saved] = Tuned();
  job.spec.tuning.mode = api::TuningMode::kOff;
  job.status.tuning->stage = "Off";
  const auto explanation = Explain(job, saved, false);
  ASSERT_TRUE(explanation.ok()) << Message(explanation.status());
  EXPECT_THAT(explanation->text, HasSubstr("a: tuning Off at "));
  EXPECT_THAT(explanation->text, HasSubstr("\n1. At "));
}

TEST(RunDirectory, RunsBesideEachOtherShareWhatTunersLearned) {
  EXPECT_EQ(TunerHistoryOf("/home/a/attune-runs/word2vec-1"), "/home/a/attune-runs/tuner-history.json");
  EXPECT_EQ(TunerHistoryOf("/home/a/attune-runs/word2vec-2"), "/home/a/attune-runs/tuner-history.json");
  EXPECT_EQ(TunerHistoryOf("/tmp/some-directory"), "") << "its neighbors have nothing to do with it";
}

TEST(Explain, AJobThatIsNotTunedSaysHowItWouldBe) {
  const auto explanation = Explain(Job(), "", false);
  EXPECT_EQ(explanation.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(explanation.status())), HasSubstr("attune tune auto a"));
}

TEST(Render, TheTunerHasALineOfItsOwnWhileTheJobRuns) {
  JobView view;
  view.name = "a";
  view.tuning_stage = "Trying";
  view.tuning = "trying 2 servers, 4 workers: expected +20 %";
  view.remaining_low = 50;
  view.remaining_high = 80;
  const Screen screen{.width = 200, .height = 24, .color = false, .unicode = true};
  EXPECT_EQ(Render(view, screen, 0)[3], "tuner: trying 2 servers, 4 workers: expected +20 %");
  EXPECT_THAT(Render(view, screen, 0)[1], HasSubstr("50s to 1m20s left"));
  EXPECT_THAT(RenderPlain(view, 0), HasSubstr("tuner: Trying"));
  EXPECT_THAT(RenderJson(view, 0), HasSubstr(R"("stage":"Trying")"));
  view.outcome = JobView::Outcome::kSucceeded;
  EXPECT_THAT(RenderPlain(view, 0), Not(HasSubstr("tuner")));
}

}  // namespace
}  // namespace attune::cli::tuning_test
