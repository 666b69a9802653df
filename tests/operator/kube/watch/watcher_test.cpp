#include "operator/kube/watch/watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "operator/kube/client/api_error.h"

namespace attune::kube::watcher_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = WatchSignal::Kind;

Json Object(const std::string& name, const std::string& version) {
  return {{"metadata", {{"name", name}, {"namespace", "n"}, {"resourceVersion", version}}}};
}
WatchSignal Change(Kind kind, const std::string& name, const std::string& version) {
  return {kind, Object(name, version), OkStatus()};
}
WatchSignal Refused(StatusCode code) { return {Kind::kError, {}, Error(code, "reported by the server")}; }
Status Later(Duration after) {
  Status status = Error(StatusCode::kUnavailable, "too many requests");
  SetRetryAfter(status, after);
  return status;
}

// "list", "watch 7", "" and events as "replaced a b", "applied a", "deleted a".
std::string Reported(const WatcherOutput& output) {
  std::string text;
  for (const WatchEvent& event : output.events) {
    text += event.kind == WatchEvent::Kind::kReplaced  ? "replaced"
            : event.kind == WatchEvent::Kind::kApplied ? "applied"
                                                       : "deleted";
    for (const Json& object : event.objects) text += " " + std::string(Name(object));
    text += "; ";
  }
  if (output.command.kind == WatchCommand::Kind::kList) text += "list";
  if (output.command.kind == WatchCommand::Kind::kWatch) text += "watch " + output.command.resource_version;
  return text;
}

// Without jitter: pauses are 1, 2, 4 ... 30 s.
WatcherOptions Exact() {
  WatcherOptions options;
  options.backoff = {.first = seconds(1), .max = seconds(30), .jitter = 0};
  options.silence_max = seconds(150);
  options.streams = false;
  return options;
}

struct Listed {
  StatusOr<ListResult> list;
};
struct At {
  Duration time;
};  // moves the clock to this time after the start and ticks
struct Step {
  std::variant<At, Listed, WatchSignal> input;
  std::string want;
};

Step Begins() { return {At{seconds(0)}, "list"}; }
Step ListGives(const std::string& version) {
  return {Listed{ListResult{{Object("a", "3"), Object("b", "4")}, version}}, "replaced a b; watch " + version};
}

struct Case {
  const char* name;
  std::vector<Step> steps;
};

class WatcherTable : public ::testing::TestWithParam<Case> {};

TEST_P(WatcherTable, Follows) {
  Watcher watcher(Exact(), 1);
  MonotonicTime now{};
  size_t number = 0;
  for (const Step& step : GetParam().steps) {
    SCOPED_TRACE("step " + std::to_string(number++));
    WatcherOutput output;
    if (const auto* at = std::get_if<At>(&step.input)) {
      now = MonotonicTime{} + at->time;
      output = watcher.OnTime(now);
    } else if (const auto* listed = std::get_if<Listed>(&step.input)) {
      output = watcher.OnListed(listed->list, now);
    } else {
      output = watcher.OnSignal(std::get<WatchSignal>(step.input), now);
    }
    ASSERT_EQ(Reported(output), step.want);
  }
}

const Case kCases[] = {
    {"a list is followed by a watch from its version, and changes move that version",
     {Begins(),
      ListGives("5"),
      {Change(Kind::kAdded, "c", "6"), "applied c; "},
      {Change(Kind::kModified, "c", "7"), "applied c; "},
      {Change(Kind::kDeleted, "c", "8"), "deleted c; "},
      {WatchSignal{Kind::kEnded, {}, OkStatus()}, "watch 8"}}},
    {"a bookmark moves the version and does not change the cache",
     {Begins(),
      ListGives("5"),
      {Change(Kind::kBookmark, "", "90"), ""},
      {WatchSignal{Kind::kEnded, {}, OkStatus()}, "watch 90"}}},
    {"a failed list is repeated with growing pauses",
     {Begins(),
      {Listed{Error(StatusCode::kUnavailable, "away")}, ""},
      {At{milliseconds(999)}, ""},
      {At{seconds(1)}, "list"},
      {Listed{Error(StatusCode::kUnavailable, "away")}, ""},
      {At{milliseconds(2999)}, ""},
      {At{seconds(3)}, "list"},
      ListGives("5")}},
    {"a list refused with Retry-After waits for as long as asked",
     {Begins(), {Listed{Later(seconds(7))}, ""}, {At{milliseconds(6999)}, ""}, {At{seconds(7)}, "list"}}},
    {"a lost connection resumes at once when something had come",
     {Begins(),
      ListGives("5"),
      {Change(Kind::kAdded, "c", "6"), "applied c; "},
      {WatchSignal{Kind::kBroken, {}, Error(StatusCode::kUnavailable, "reset")}, "watch 6"}}},
    {"a connection lost before anything came resumes after a pause",
     {Begins(),
      ListGives("5"),
      {WatchSignal{Kind::kBroken, {}, Error(StatusCode::kUnavailable, "reset")}, ""},
      {At{milliseconds(999)}, ""},
      {At{seconds(1)}, "watch 5"},
      {WatchSignal{Kind::kBroken, {}, Error(StatusCode::kUnavailable, "reset")}, ""},
      {At{seconds(2)}, ""},
      {At{seconds(3)}, "watch 5"}}},
    {"a watch that ends at once and empty is not repeated in a tight loop",
     {Begins(), ListGives("5"), {WatchSignal{Kind::kEnded, {}, OkStatus()}, ""}, {At{seconds(1)}, "watch 5"}}},
    {"an expired version lists again at once",
     {Begins(),
      ListGives("5"),
      {Change(Kind::kAdded, "c", "6"), "applied c; "},
      {Refused(StatusCode::kOutOfRange), "list"},
      ListGives("9")}},
    {"fresh lists that expire again are repeated with pauses",
     {Begins(),
      ListGives("5"),
      {Refused(StatusCode::kOutOfRange), "list"},
      ListGives("6"),
      {Refused(StatusCode::kOutOfRange), ""},
      {At{seconds(1)}, ""},
      {At{seconds(2)}, "list"}}},
    {"too many requests for a watch waits as long as asked and resumes",
     {Begins(),
      ListGives("5"),
      {WatchSignal{Kind::kError, {}, Later(seconds(4))}, ""},
      {At{milliseconds(3999)}, ""},
      {At{seconds(4)}, "watch 5"}}},
    {"forbidden resumes after a pause, for rights may come back",
     {Begins(), ListGives("5"), {Refused(StatusCode::kPermissionDenied), ""}, {At{seconds(1)}, "watch 5"}}},
    {"a kind that is gone is listed until it is back",
     {Begins(),
      ListGives("5"),
      {Refused(StatusCode::kNotFound), ""},
      {At{seconds(1)}, "list"},
      {Listed{Error(StatusCode::kNotFound, "no such kind")}, ""},
      {At{seconds(3)}, "list"},
      ListGives("9")}},
    {"a version the server cannot read lists again",
     {Begins(), ListGives("5"), {Refused(StatusCode::kInvalidArgument), ""}, {At{seconds(1)}, "list"}}},
    {"silence for longer than two bookmarks lists again",
     {Begins(), ListGives("5"), {At{seconds(149)}, ""}, {At{seconds(150)}, "list"}, ListGives("5")}},
    {"a bookmark ends the silence",
     {Begins(),
      ListGives("5"),
      {At{seconds(149)}, ""},
      {Change(Kind::kBookmark, "", "6"), ""},
      {At{seconds(150)}, ""},
      {At{seconds(299)}, "list"}}},
    {"silence counts across watches that die of it",
     {Begins(),
      ListGives("5"),
      {At{seconds(90)}, ""},
      {WatchSignal{Kind::kBroken, {}, Error(StatusCode::kDeadlineExceeded, "silent")}, ""},
      {At{seconds(91)}, "watch 5"},
      {At{seconds(149)}, ""},
      {At{seconds(150)}, "list"}}},
    {"an object without a version cannot be resumed from",
     {Begins(), ListGives("5"), {Change(Kind::kAdded, "c", ""), ""}, {At{seconds(1)}, "list"}}},
    {"signals of a watch that was given up are ignored",
     {Begins(),
      {Change(Kind::kAdded, "c", "6"), ""},
      ListGives("7"),
      {Refused(StatusCode::kOutOfRange), "list"},
      {Change(Kind::kAdded, "c", "6"), ""},
      {Listed{ListResult{{}, "8"}}, "replaced; watch 8"}}},
    {"an answer to no question is ignored",
     {Begins(),
      ListGives("5"),
      {Listed{ListResult{{}, "1"}}, ""},
      {WatchSignal{Kind::kEnded, {}, OkStatus()}, ""},
      {At{seconds(1)}, "watch 5"}}},
    {"pauses start small again after something was heard",
     {Begins(),
      ListGives("5"),
      {WatchSignal{Kind::kBroken, {}, OkStatus()}, ""},
      {At{seconds(1)}, "watch 5"},
      {WatchSignal{Kind::kBroken, {}, OkStatus()}, ""},
      {At{seconds(3)}, "watch 5"},
      {Change(Kind::kAdded, "c", "6"), "applied c; "},
      {WatchSignal{Kind::kBroken, {}, OkStatus()}, "watch 6"},
      {WatchSignal{Kind::kBroken, {}, OkStatus()}, ""},
      {At{seconds(4)}, "watch 6"}}},
};

INSTANTIATE_TEST_SUITE_P(Arms, WatcherTable, ::testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
});

TEST(Watcher, PausesNeverExceedTheLimitAndWatchLengthsSpread) {
  WatcherOptions options = Exact();
  options.backoff.jitter = 0.5;
  Watcher watcher(options, 7);
  MonotonicTime now{};
  watcher.OnTime(now);
  for (int n = 0; n < 40; ++n) {
    watcher.OnListed(Error(StatusCode::kUnavailable, "away"), now);
    EXPECT_GT(watcher.wake_at(), now);
    EXPECT_LE(watcher.wake_at() - now, seconds(45));
    now = watcher.wake_at();
    ASSERT_EQ(Reported(watcher.OnTime(now)), "list");
  }
  std::set<Duration> lengths;
  for (int n = 0; n < 20; ++n) {
    WatcherOutput output =
        n == 0 ? watcher.OnListed(ListResult{{}, "1"}, now) : watcher.OnSignal({Kind::kEnded, {}, OkStatus()}, now);
    ASSERT_EQ(output.command.kind, WatchCommand::Kind::kWatch);
    EXPECT_GE(output.command.server_timeout, options.watch_min);
    EXPECT_LE(output.command.server_timeout, options.watch_max);
    lengths.insert(output.command.server_timeout);
    watcher.OnSignal(Change(Kind::kBookmark, "", "2"), now);
  }
  EXPECT_GT(lengths.size(), 10U);
}

TEST(Watcher, CountsWhatItDid) {
  Watcher watcher(Exact(), 1);
  MonotonicTime now{};
  watcher.OnTime(now);
  watcher.OnListed(ListResult{{}, "1"}, now);
  watcher.OnSignal(Refused(StatusCode::kOutOfRange), now);
  watcher.OnListed(ListResult{{}, "2"}, now);
  watcher.OnTime(now + seconds(200));
  EXPECT_EQ(watcher.counts().lists, 3U);
  EXPECT_EQ(watcher.counts().watches, 2U);
  EXPECT_EQ(watcher.counts().expired, 1U);
  EXPECT_EQ(watcher.counts().silences, 1U);
}

}  // namespace
}  // namespace attune::kube::watcher_test
