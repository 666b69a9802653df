#include "cli/pull/pod_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/pull/reader_manifest.h"
#include "tests/operator/kube/fake_api.h"

namespace attune::cli::pod_reader_test {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const kube::ObjectKey kKey{"team", "w2v-model-reader"};

Json Reader() {
  return {{"metadata",
           {{"name", kKey.name}, {"namespace", kKey.name_space}, {"labels", {{kReaderLabel, kReaderLabelValue}}}}}};
}

// One pod, which comes to run after some looks, or does not.
class OnePodCluster final : public kube::FakeApi {
 public:
  std::optional<Json> pod;
  int looks_until_running = 2;
  Json meanwhile = {{"phase", "Pending"}};
  bool deleting_takes_a_look = false;
  std::vector<std::string> deleted;          // uids
  std::vector<StatusOr<std::string>> pages;  // taken from the front; then "page"
  std::vector<std::string> asked;

  StatusOr<Json> Create(const kube::ResourceType&, const Json& object, const kube::CallOptions&) override {
    RETURN_IF_ERROR(creating);
    if (pod) return Error(StatusCode::kAlreadyExists, "there is such a pod");
    pod = object;
    (*pod)["metadata"]["uid"] = "uid-" + std::to_string(++created);
    (*pod)["status"] = meanwhile;
    return *pod;
  }
  StatusOr<Json> Get(const kube::ResourceType&, const kube::ObjectKey& key, const kube::CallOptions&) override {
    if (!pod || key != kKey) return Error(StatusCode::kNotFound, "there is no such pod");
    if (kube::IsBeingDeleted(*pod)) {
      pod.reset();
      return Error(StatusCode::kNotFound, "it is gone");
    }
    if (created > 0 && --looks_until_running < 0) (*pod)["status"] = {{"phase", "Running"}};
    return *pod;
  }
  StatusOr<kube::ListResult> List(const kube::ResourceType&, const kube::ListOptions&,
                                  const kube::CallOptions&) override {
    return Error(StatusCode::kPermissionDenied, "events are forbidden");
  }
  Status Delete(const kube::ResourceType&, const kube::ObjectKey&, const kube::DeleteOptions& options,
                const kube::CallOptions&) override {
    RETURN_IF_ERROR(deleting);
    deleted.push_back(options.uid);
    if (!pod || kube::Uid(*pod) != options.uid) return Error(StatusCode::kAborted, "the uid differs");
    if (deleting_takes_a_look) {
      (*pod)["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z";
    } else {
      pod.reset();
    }
    return OkStatus();
  }
  StatusOr<std::string> GetPodPage(const kube::ObjectKey&, uint16_t port, const std::string& path,
                                   const kube::CallOptions&) override {
    EXPECT_EQ(port, kReaderPort);
    asked.push_back(path);
    if (pages.empty()) return std::string("page");
    auto page = pages.front();
    if (pages.size() > 1 || !page_stays) pages.erase(pages.begin());
    return page;
  }

  Status creating, deleting;
  int created = 0;
  bool page_stays = false;
};

class PodReaderTest : public ::testing::Test {
 protected:
  StatusOr<std::unique_ptr<PodReader>> Start(Duration most = std::chrono::minutes(1)) {
    return PodReader::Start(api_, Reader(), "t0k", most, surroundings_);
  }
  std::string ErrorOf(const Status& status) { return std::string(Message(status)); }

  ManualTime time_;
  int waits_ = 0, interrupt_at_ = -1;
  std::vector<std::string> said_;
  const ReaderSurroundings surroundings_{.time = time_,
                                         .wait =
                                             [this](Duration wait) {
                                               time_.Advance(wait);
                                               return waits_++ == interrupt_at_;
                                             },
                                         .say = [this](const std::string& text) { said_.push_back(text); }};
  OnePodCluster api_;
};

TEST_F(PodReaderTest, StartsAnswersAndGoes) {
  {
    const auto reader = Start();
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ((*reader)->Ask("list/0").value_or("?"), "page");
    EXPECT_THAT(api_.asked, ElementsAre("t0k/ready", "t0k/list/0"));
    EXPECT_THAT(said_, ElementsAre("waiting for pod team/w2v-model-reader: its container is being made"));
    EXPECT_THAT(api_.deleted, IsEmpty());
  }
  EXPECT_THAT(api_.deleted, ElementsAre("uid-1"));
}

TEST_F(PodReaderTest, AReaderThatAnEarlierCallLeftIsReplaced) {
  for (const bool takes_a_look : {false, true}) {
    api_.pod = Reader();
    (*api_.pod)["metadata"]["uid"] = "old";
    api_.created = 0;
    api_.deleted.clear();
    api_.deleting_takes_a_look = takes_a_look;
    {
      const auto reader = Start();
      ASSERT_TRUE(reader.ok()) << reader.status();
      EXPECT_THAT(api_.deleted, ElementsAre("old"));
      EXPECT_THAT(said_.front(), HasSubstr("replacing pod team/w2v-model-reader"));
    }
    api_.pod.reset();
  }
}

TEST_F(PodReaderTest, APodThatIsNoReaderStays) {
  api_.pod = Json{{"metadata", {{"uid", "other"}}}};
  const auto reader = Start();
  ASSERT_EQ(reader.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(ErrorOf(reader.status()), HasSubstr("is no reader"));
  EXPECT_THAT(api_.deleted, IsEmpty());
}

TEST_F(PodReaderTest, AReaderThatNeverStartsIsGivenUpAndRemoved) {
  api_.looks_until_running = 1000;
  api_.meanwhile = Json{
      {"phase", "Pending"},
      {"conditions",
       Json::array(
           {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}, {"message", "no room"}}})}};
  const auto reader = Start();
  ASSERT_EQ(reader.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(ErrorOf(reader.status()), HasSubstr("it waited for: Unschedulable: no room"));
  EXPECT_THAT(api_.deleted, ElementsAre("uid-1"));
  EXPECT_EQ(said_.size(), 1U) << "the same is said once";
}

TEST_F(PodReaderTest, AnInterruptEndsTheWaitAndRemovesThePod) {
  api_.looks_until_running = 1000;
  interrupt_at_ = 3;
  EXPECT_EQ(Start().status().code(), StatusCode::kCancelled);
  EXPECT_THAT(api_.deleted, ElementsAre("uid-1"));
}

TEST_F(PodReaderTest, WhatCannotBecomeBetterEndsAtOnce) {
  struct Case {
    const char* name;
    std::function<void()> set;
    const char* want;
  };
  const Case cases[] = {
      {"no right to create pods", [&] { api_.creating = Error(StatusCode::kPermissionDenied, "pods is forbidden"); },
       "pods is forbidden; pull-model needs the rights"},
      {"no right to pods/proxy",
       [&] { api_.pages = {Error(StatusCode::kPermissionDenied, "pods/proxy is forbidden")}; },
       "pods/proxy is forbidden; pull-model needs the rights"},
      {"the image is of an earlier release",
       [&] {
         api_.meanwhile = Json{{"phase", "Failed"},
                               {"containerStatuses", Json::array({{{"state", {{"terminated", {{"exitCode", 2}}}}}}})}};
         api_.looks_until_running = 1000;
       },
       "exit code 2"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    api_ = OnePodCluster();
    c.set();
    const auto reader = Start();
    ASSERT_FALSE(reader.ok());
    EXPECT_THAT(ErrorOf(reader.status()), HasSubstr(c.want));
    EXPECT_FALSE(api_.pod) << "nothing is left";
  }
}

TEST_F(PodReaderTest, APortThatTheApiServerDoesNotReachIsExplained) {
  api_.pages = {Error(StatusCode::kUnavailable, "dial tcp: i/o timeout")};
  api_.page_stays = true;
  const auto reader = Start();
  ASSERT_EQ(reader.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(ErrorOf(reader.status()), HasSubstr("does not reach its port 7403 (dial tcp: i/o timeout)"));
  EXPECT_THAT(ErrorOf(reader.status()), HasSubstr("NetworkPolicy"));
  EXPECT_LT(time_.Now(), MonotonicTime{} + std::chrono::seconds(45)) << "not the whole time";
}

TEST_F(PodReaderTest, WhatPassesByIsWaitedOutAndWhatDoesNotIsNot) {
  const auto reader = Start();
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto away = Error(StatusCode::kUnavailable, "connection refused");
  api_.pages = {away, away, std::string("after all")};
  EXPECT_EQ((*reader)->Ask("read/1/0/0").value_or("?"), "after all");
  api_.pages = {away};
  api_.page_stays = true;
  EXPECT_EQ((*reader)->Ask("read/1/0/0").status().code(), StatusCode::kUnavailable);
  api_.asked.clear();
  api_.pages = {Error(StatusCode::kAborted, "'a' was written to")};
  EXPECT_EQ((*reader)->Ask("read/1/0/0").status().code(), StatusCode::kAborted);
  EXPECT_EQ(api_.asked.size(), 1U);
  api_.pages = {Error(StatusCode::kNotFound, "pods not found")};
  EXPECT_THAT(ErrorOf((*reader)->Ask("read/1/0/0").status()), HasSubstr("another call of pull-model replaced it"));
}

TEST_F(PodReaderTest, APodThatCannotBeDeletedIsTold) {
  {
    const auto reader = Start();
    ASSERT_TRUE(reader.ok()) << reader.status();
    api_.deleting = Error(StatusCode::kUnavailable, "connection refused");
  }
  EXPECT_THAT(said_.back(), HasSubstr("could not be deleted (connection refused); it ends by itself after 5m"));
}

}  // namespace
}  // namespace attune::cli::pod_reader_test
