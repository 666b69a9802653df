#include "operator/tuner/ask_tell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/random.h"

namespace attune::tuner::ask_tell_test {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

constexpr char kStart[] =
    R"({"type":"start","space":{"knobs":{"servers":[1,8],"workers":[1,16],"threads":[1,4]}},)"
    R"("goal":{"kind":"steps","target":20000,"max_steps":20000},"costs":{"live_s":0.2,"relocation_s":2,"pods_s":10,)"
    R"("crash_s":60},)"
    R"("window_s":5,"mode":"async","current":{"servers":1,"workers":1,"threads":1},"seed":7,"color":"green"})";
constexpr char kReport[] =
    R"({"type":"report","ok":true,"setting":{"servers":1,"workers":1,"threads":1},"time":5,"seconds":5,"steps":100,)"
    R"("loss_mean":2.1,)"
    R"("loss_variance":0.01,"staleness":0,"server_memory":0.4,"worker_memory":0.3,"during_change":false,"mood":null})";
constexpr char kAsk[] = R"({"type":"ask","time":5,"current":{"servers":1,"workers":1,"threads":1}})";

Json Answer(AskTell& conversation, const std::string& line) {
  const auto answer = conversation.Handle(line);
  EXPECT_TRUE(answer.has_value()) << line;
  if (!answer) return {};
  EXPECT_EQ(answer->find('\n'), std::string::npos);
  return Json::parse(*answer);
}

TEST(AskTellTest, OneJobAfterTheOther) {
  AskTell conversation;
  for (int job = 0; job < 3; ++job) {
    EXPECT_FALSE(conversation.Handle(kStart).has_value());
    EXPECT_FALSE(conversation.Handle(kReport).has_value());
    const Json decision = Answer(conversation, kAsk);
    EXPECT_EQ(decision["type"], "decision");
    EXPECT_EQ(decision["setting"].size(), 3U);
    EXPECT_GT(decision["seconds"].get<double>(), 0);
    EXPECT_TRUE(decision["kind"] == "trial" || decision["kind"] == "keep");
    EXPECT_FALSE(decision["why"].get<std::string>().empty());
    EXPECT_TRUE(decision["remaining"].is_object());
    EXPECT_LE(decision["remaining"]["low"], decision["remaining"]["mid"]);
    if (job == 2) break;
    EXPECT_FALSE(conversation.Handle(R"({"type":"end"})").has_value());
  }
}

TEST(AskTellTest, AllowedSettingsFollowTheOrderOfTheKnobs) {
  AskTell conversation;
  ASSERT_FALSE(
      conversation.Handle(R"({"type":"start","space":{"knobs":{"workers":[1,16],"batch":[1,512],"alpha":[0,3]},)"
                          R"("allowed":[[16,512,0],[8,64,3]]},)"
                          R"("goal":{"kind":"steps","target":1000},"current":{"workers":8,"batch":64,"alpha":3}})"));
  const Json decision = Answer(conversation, R"({"type":"ask","time":0,"current":{"workers":8,"batch":64,"alpha":3}})");
  const Json first = {{"workers", 16}, {"batch", 512}, {"alpha", 0}},
             second = {{"workers", 8}, {"batch", 64}, {"alpha", 3}};
  EXPECT_TRUE(decision["setting"] == first || decision["setting"] == second) << decision;
}

TEST(AskTellTest, MalformedLinesAreAnsweredAndHarmNothing) {
  AskTell conversation;
  EXPECT_EQ(Answer(conversation, kAsk)["type"], "error") << "no job yet";
  ASSERT_FALSE(conversation.Handle(kStart));
  const std::string deep = R"({"type":"report","setting":)" + std::string(5000, '[') + std::string(5000, ']') + "}";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{", "not a JSON object"},
      {"hello", "not a JSON object"},
      {"[1,2]", "must be a JSON object"},
      {R"({"type":"dance"})", "found \"dance\""},
      {R"({"time":3})", "type must be"},
      {R"({"type":"report","time":1})", "no setting"},
      {R"({"type":"report","setting":{"servers":1,"workers":1},"time":1})", "no value for knob threads"},
      {R"({"type":"report","setting":{"servers":1,"workers":1,"threads":1.5},"time":1})", "whole number"},
      {R"({"type":"report","setting":{"servers":1,"workers":1,"threads":1},"time":"soon","seconds":1,"steps":1})",
       "time must be a number"},
      {R"({"type":"report","ok":"yes","setting":{"servers":1,"workers":1,"threads":1},"time":1,"seconds":1,"steps":1})",
       "ok must be"},
      {R"({"type":"ask","current":{"servers":1,"workers":1,"threads":1}})", "needs the time"},
      {R"({"type":"ask","time":1})", "current setting"},
      {R"({"type":"start"})", "space.knobs"},
      {R"({"type":"start","space":{"knobs":{"servers":[5,2]}},"goal":{"kind":"steps","target":1}})",
       "range [5, 2] is empty"},
      {R"({"type":"start","space":{"knobs":{"servers":[1,2]}},"goal":{"kind":"glory","target":1}})", "found \"glory\""},
      {R"({"type":"start","space":{"knobs":{"servers":[1,2]}},"goal":{"kind":"metric","target":1,"better":"more"}})",
       "higher or lower"},
      {R"({"type":"start","space":{"knobs":{"servers":[1,2]}},"goal":{"kind":"steps","target":1},"objective":"fame"})",
       "objective must be one of"},
      {R"({"type":"start","space":{"knobs":{"servers":[1,2]}},"goal":{"kind":"steps","target":1},)"
       R"("objective":{"prices":{"slack":1}}})",
       "no price of slack"},
      {R"({"type":"start","space":{"knobs":{"servers":[1,2]},"allowed":[]},"goal":{"kind":"steps","target":1}})",
       "no setting may be proposed"},
      {deep, "nested deeper"},
      {std::string("{\"type\":\"\xff\xfe\"}"), ""}};
  for (const auto& [line, want] : cases) {
    const Json error = Answer(conversation, line);
    EXPECT_EQ(error["type"], "error") << line;
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(want)) << line.substr(0, 80);
    EXPECT_GT(error["line"].get<int>(), 0);
  }
  EXPECT_FALSE(conversation.Handle("").has_value());
  EXPECT_FALSE(conversation.Handle("  \r").has_value());
  EXPECT_EQ(Answer(conversation, kAsk)["type"], "decision") << "the job continues";
}

TEST(AskTellTest, AJobThatEndsAtATimeSaysWhatIsLeftOfIt) {
  AskTell conversation;
  ASSERT_FALSE(conversation.Handle(
      R"({"type":"start","space":{"knobs":{"workers":[1,4]}},"goal":{"kind":"steps","max_seconds":500},)"
      R"("window_s":5})"));
  ASSERT_FALSE(conversation.Handle(R"({"type":"report","setting":{"workers":1},"time":20,"seconds":20,"steps":40})"));
  const Json decision = Answer(conversation, R"({"type":"ask","time":120,"current":{"workers":1}})");
  for (const char* end : {"low", "mid", "high"}) EXPECT_EQ(decision["remaining"][end], 380) << decision;
}

TEST(AskTellTest, UnbelievableReportsAreNamedByTheNextDecisionOnly) {
  AskTell conversation;
  ASSERT_FALSE(conversation.Handle(kStart));
  ASSERT_FALSE(conversation.Handle(kReport));
  std::string lie = kReport;
  lie.replace(lie.find("\"steps\":100"), 11, "\"steps\":-10");
  EXPECT_FALSE(conversation.Handle(lie).has_value()) << "the next request must find the decision";
  std::string nan = kReport;
  nan.replace(nan.find("2.1"), 3, "NaN");
  EXPECT_FALSE(conversation.Handle(nan).has_value());
  const Json decision = Answer(conversation, kAsk);
  EXPECT_EQ(decision["ignored_reports"], 1);
  EXPECT_THAT(decision["last_ignored"].get<std::string>(), HasSubstr("negative"));
  EXPECT_FALSE(Answer(conversation, kAsk).contains("last_ignored"));
}

TEST(AskTellTest, AConversationCanBeExplainedSavedAndContinued) {
  AskTell conversation;
  ASSERT_FALSE(conversation.Handle(kStart));
  ASSERT_FALSE(conversation.Handle(kReport));
  const Json decision = Answer(conversation, kAsk);
  const Json explanation = Answer(conversation, R"({"type":"explain"})");
  EXPECT_GE(explanation["decisions"].size(), 1U);
  EXPECT_EQ(explanation["model"].size(), 10U);
  const Json state = Answer(conversation, R"({"type":"save"})");
  AskTell other;
  ASSERT_FALSE(other.Handle(Json({{"type", "load"}, {"state", state["state"]}}).dump()));
  const std::string later = Json({{"type", "ask"}, {"time", 11}, {"current", decision["setting"]}}).dump();
  EXPECT_EQ(Answer(other, later), Answer(conversation, later));
}

TEST(AskTellTest, TimesOfProcessesAreUnderstood) {
  AskTell conversation;
  ASSERT_FALSE(conversation.Handle(
      R"({"type":"start","space":{"knobs":{"servers":[1,4],"workers":[1,8]}},"goal":{"kind":"steps","target":50000},)"
      R"("window_s":5,"current":{"servers":1,"workers":4}})"));
  const auto report = [&](int time, const char* times) {
    EXPECT_FALSE(conversation.Handle(R"({"type":"report","setting":{"servers":1,"workers":4},"time":)" +
                                     std::to_string(time) + R"(,"seconds":5,"steps":90,)" + times + "}"));
  };
  report(5, R"("worker_compute":0.1,"server_busy":0.98)");
  report(10, R"("worker_compute":null,"server_busy":null)");
  report(15, R"("worker_compute":1.5)");
  const Json decision = Answer(conversation, R"({"type":"ask","time":15,"current":{"servers":1,"workers":4}})");
  EXPECT_THAT(decision["last_ignored"].get<std::string>(), HasSubstr("worker_compute and server_busy must be shares"));
  EXPECT_GT(decision["setting"]["servers"].get<int>(), 1) << "workers wait for a server that is busy";
  // A state that was changed by another hand is refused, not believed.
  Json saved = Json::parse(Answer(conversation, R"({"type":"save"})")["state"].get<std::string>());
  saved["timing"]["readings"][0][1] = 7;
  const Json loaded = Answer(conversation, Json({{"type", "load"}, {"state", saved.dump()}}).dump());
  EXPECT_EQ(loaded["type"], "error");
}

TEST(AskTellTest, LimitsOfPodsReadingsOfThemAndPricesAreUnderstood) {
  AskTell conversation;
  ASSERT_FALSE(conversation.Handle(
      R"({"type":"start","space":{"knobs":{"workers":[1,4],"worker_millicores":[250,4000]}},)"
      R"("goal":{"kind":"steps","target":5000},"objective":{"kind":"cost","prices":{"worker_millicores":0.04}},)"
      R"("window_s":5,"current":{"workers":2,"worker_millicores":250}})"));
  ASSERT_FALSE(conversation.Handle(
      R"({"type":"report","setting":{"workers":2,"worker_millicores":250},"time":5,"seconds":5,"steps":9,)"
      R"("worker_throttled":0.7,"worker_cpu":1,"server_throttled":0,"server_cpu":0.1})"));
  ASSERT_FALSE(conversation.Handle(
      R"({"type":"report","setting":{"workers":2,"worker_millicores":250},"time":10,"seconds":5,"steps":9,)"
      R"("worker_throttled":-1})"));
  const Json decision =
      Answer(conversation, R"({"type":"ask","time":10,"current":{"workers":2,"worker_millicores":250}})");
  EXPECT_EQ(decision["type"], "decision");
  EXPECT_THAT(decision["last_ignored"].get<std::string>(), HasSubstr("throttling"));
  const Json explanation = Answer(conversation, R"({"type":"explain"})");
  ASSERT_GE(explanation["pareto"].size(), 2U);
  const Json& fastest = explanation["pareto"].front();
  const Json& cheapest = explanation["pareto"].back();
  EXPECT_LT(fastest["relative_time"], cheapest["relative_time"]);
  EXPECT_GT(fastest["relative_cost"], cheapest["relative_cost"]);
  EXPECT_NEAR(fastest["price_per_hour"].get<double>(),
              0.04e-3 * fastest["setting"]["workers"].get<int>() * fastest["setting"]["worker_millicores"].get<int>(),
              1e-9);
}

// Any bytes at all: never an abort, never a line break in an answer.
TEST(AskTellTest, RandomBytesAndBrokenLinesDoNotEndIt) {
  Random random(11);
  AskTell conversation;
  for (int i = 0; i < 3000; ++i) {
    std::string line = i % 3 == 0 ? kStart : (i % 3 == 1 ? kReport : kAsk);
    for (uint64_t changes = random.Below(4); changes > 0; --changes)
      line[random.Below(line.size())] = static_cast<char>(random.Below(256));
    if (random.Chance(0.1)) line.resize(random.Below(line.size()));
    if (i % 3 == 0 && !random.Chance(0.02)) continue;  // a start is slow
    const auto answer = conversation.Handle(line);
    if (answer) {
      ASSERT_FALSE(Json::parse(*answer, nullptr, false).is_discarded());
    }
  }
}

}  // namespace
}  // namespace attune::tuner::ask_tell_test
