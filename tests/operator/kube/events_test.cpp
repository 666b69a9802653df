#include "operator/kube/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/kube/fake_api.h"

namespace attune::kube::events_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const Json kJob = {{"apiVersion", "attune.dev/v1alpha1"},
                   {"kind", "TrainingJob"},
                   {"metadata", {{"name", "word2vec"}, {"namespace", "n"}, {"uid", "u-1"}, {"resourceVersion", "5"}}},
                   {"spec", {{"large", "field"}}}};
const EventNote kNote{EventType::kWarning, "WorkerFailed", "Restart", "worker 1 exited with 3"};

class SeriesTest : public ::testing::Test {
 protected:
  std::optional<EventSeries::Call> Occur(const EventNote& note = kNote, const Json& object = kJob) {
    return series_.OnOccurrence(object, note, time_.Now(), time_.WallNow());
  }
  ManualTime time_;
  EventSeries series_{"attune-operator", "operator-0"};
};

TEST_F(SeriesTest, FirstOccurrenceCreatesAnEvent) {
  auto call = Occur();
  ASSERT_TRUE(call);
  EXPECT_TRUE(call->create);
  Json body = call->body;
  EXPECT_EQ(Namespace(body), "n");
  EXPECT_TRUE(Name(body).starts_with("word2vec.")) << Name(body);
  EXPECT_EQ(body["type"], "Warning");
  EXPECT_EQ(body["reason"], "WorkerFailed");
  EXPECT_EQ(body["action"], "Restart");
  EXPECT_EQ(body["note"], "worker 1 exited with 3");
  EXPECT_EQ(body["reportingController"], "attune-operator");
  EXPECT_EQ(body["reportingInstance"], "operator-0");
  EXPECT_EQ(body["eventTime"], "2023-11-14T22:13:20.000000Z");
  Json want = {{"apiVersion", "attune.dev/v1alpha1"},
               {"kind", "TrainingJob"},
               {"name", "word2vec"},
               {"namespace", "n"},
               {"uid", "u-1"},
               {"resourceVersion", "5"}};
  EXPECT_EQ(body["regarding"], want);
}

TEST_F(SeriesTest, RepetitionRaisesTheCountAtMostEveryTenSeconds) {
  ObjectKey key = Occur()->key;
  for (int n = 0; n < 5; ++n) EXPECT_FALSE(Occur());
  EXPECT_EQ(series_.NextDue(), time_.Now() + seconds(10));
  EXPECT_TRUE(series_.TakeDue(time_.Now() + seconds(9)).empty());
  time_.Advance(seconds(10));
  std::vector<EventSeries::Call> due = series_.TakeDue(time_.Now());
  ASSERT_EQ(due.size(), 1U);
  EXPECT_FALSE(due[0].create);
  EXPECT_EQ(due[0].key, key);
  EXPECT_EQ(due[0].body["series"]["count"], 6);
  EXPECT_EQ(series_.NextDue(), kNever);
  time_.Advance(seconds(11));
  auto later = Occur();
  ASSERT_TRUE(later);
  EXPECT_EQ(later->body["series"]["count"], 7);
}

TEST_F(SeriesTest, TenMinutesOfQuietBeginANewEvent) {
  Occur();
  time_.Advance(minutes(9));
  EXPECT_FALSE(Occur()->create);
  time_.Advance(minutes(9));
  EXPECT_FALSE(Occur()->create) << "the window starts with the last occurrence";
  time_.Advance(minutes(10));
  EXPECT_TRUE(Occur()->create);
}

TEST_F(SeriesTest, DifferentObjectsReasonsAndNotesAreApart) {
  std::set<std::string> names;
  EventNote other_reason = kNote, other_note = kNote;
  other_reason.reason = "WorkerLost";
  other_note.note = "worker 2 exited with 3";
  Json other_object = kJob;
  other_object["metadata"]["uid"] = "u-2";
  for (const auto& call : {Occur(), Occur(other_reason), Occur(other_note), Occur(kNote, other_object)}) {
    ASSERT_TRUE(call);
    EXPECT_TRUE(call->create);
    names.insert(call->key.name);
  }
  EXPECT_EQ(names.size(), 4U);
}

TEST_F(SeriesTest, ALostEventIsCreatedAnew) {
  auto call = Occur();
  series_.OnLost(call->key);
  EXPECT_TRUE(Occur()->create);
}

TEST_F(SeriesTest, LimitsOfTheApiAreKept) {
  EventNote large = kNote;
  large.note = std::string(1023, 'x') + "\xC3\xA4";  // a two-byte character across the limit
  large.reason = std::string(300, 'R');
  Json object = kJob;
  object["metadata"]["name"] = std::string(253, 'n');
  auto call = Occur(large, object);
  EXPECT_EQ(call->body["note"], std::string(1023, 'x'));
  EXPECT_EQ(call->body["reason"].get<std::string>().size(), 128U);
  EXPECT_LE(call->key.name.size(), 253U);
  EXPECT_NO_THROW(call->body.dump());
}

TEST_F(SeriesTest, ObjectsWithoutANamespaceReportInDefault) {
  Json node = {{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", {{"name", "m"}}}};
  EXPECT_EQ(Occur(kNote, node)->key.name_space, "default");
}

TEST_F(SeriesTest, MemoryIsBounded) {
  for (int n = 0; n < 6000; ++n) {
    EventNote note = kNote;
    note.note = std::to_string(n);
    Occur(note);
    time_.Advance(std::chrono::milliseconds(1));
  }
  EXPECT_LE(series_.size(), 4096U);
}

class RecordingApi final : public FakeApi {
 public:
  StatusOr<Json> Create(const ResourceType& type, const Json& object, const CallOptions&) override {
    std::unique_lock lock(mutex);
    EXPECT_EQ(type, kEvents);
    entered = true;
    changed.notify_all();
    changed.wait_for(lock, seconds(20), [&] { return !blocked; });
    created.push_back(object);
    if (!answer.ok()) return answer;
    return object;
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool blocked = false, entered = false;
  Status answer;
  std::vector<Json> created;
};

TEST(EventRecorder, WritesInOrderAndCountsRepetition) {
  SystemTime time;
  RecordingApi api;
  EventRecorder recorder(api, time, "operator-0");
  recorder.Record(kJob, kNote);
  recorder.Record(kJob, kNote);
  recorder.Record(kJob, {EventType::kNormal, "Started", "Start", "training runs"});
  ASSERT_TRUE(recorder.Flush(seconds(20)));
  ASSERT_EQ(api.created.size(), 2U);
  EXPECT_EQ(api.created[0]["reason"], "WorkerFailed");
  EXPECT_EQ(api.created[1]["reason"], "Started");
  EXPECT_EQ(recorder.counts().recorded, 3U);
  EXPECT_EQ(recorder.counts().written, 2U);
}

TEST(EventRecorder, AStuckServerNeverBlocksTheCallerAndTheQueueIsBounded) {
  SystemTime time;
  RecordingApi api;
  api.blocked = true;
  EventRecorder recorder(api, time, "operator-0");
  recorder.Record(kJob, kNote);
  {
    std::unique_lock lock(api.mutex);
    ASSERT_TRUE(api.changed.wait_for(lock, seconds(20), [&] { return api.entered; }));
  }
  for (int n = 0; n < 1500; ++n) recorder.Record(kJob, {EventType::kNormal, "N", "N", std::to_string(n)});
  EXPECT_EQ(recorder.counts().dropped, 500U);
  {
    std::lock_guard lock(api.mutex);
    api.blocked = false;
    api.changed.notify_all();
  }
  EXPECT_TRUE(recorder.Flush(seconds(20)));
  EXPECT_EQ(recorder.counts().written, 1001U);
}

TEST(EventRecorder, AFailedWriteIsTriedAgainWithTheNextOccurrence) {
  SystemTime time;
  RecordingApi api;
  api.answer = Error(StatusCode::kUnavailable, "away");
  EventRecorder recorder(api, time, "operator-0");
  recorder.Record(kJob, kNote);
  ASSERT_TRUE(recorder.Flush(seconds(20)));
  api.answer = OkStatus();
  recorder.Record(kJob, kNote);
  ASSERT_TRUE(recorder.Flush(seconds(20)));
  EXPECT_EQ(api.created.size(), 2U);
  EXPECT_EQ(recorder.counts().failed, 1U);
}

}  // namespace
}  // namespace attune::kube::events_test
