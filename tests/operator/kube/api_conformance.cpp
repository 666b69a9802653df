#include "tests/operator/kube/api_conformance.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/operator/kube/signal_log.h"

namespace attune::kube {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ApiConformance);

namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

StatusCode CodeOf(const Status& status) { return status.code(); }
template <typename T>
StatusCode CodeOf(const StatusOr<T>& result) {
  return result.status().code();
}

std::vector<std::string> NamesOf(const StatusOr<ListResult>& list) {
  std::vector<std::string> names;
  if (!list.ok()) return {"error: " + ToString(list.status())};
  for (const Json& item : list->items) names.emplace_back(Name(item));
  return names;
}

uint64_t Number(std::string_view version) { return std::strtoull(std::string(version).c_str(), nullptr, 10); }

}  // namespace

void ApiConformance::SetUp() {
  static std::atomic<int> next{0};
  prefix_ = "test-" + std::to_string(getpid()) + "-" + std::to_string(next++) + "-";
  StatusOr<std::unique_ptr<Api>> api = GetParam().make();
  ASSERT_TRUE(api.ok()) << api.status();
  api_ = *std::move(api);
}

void ApiConformance::TearDown() {
  if (api_ == nullptr) return;
  for (const ResourceType& type : {job_type(), kPods}) {
    StatusOr<ListResult> left = api_->List(type, {.name_space = GetParam().name_space, .label_selector = Selector()});
    if (!left.ok()) continue;
    for (const Json& object : left->items) ForceDelete(type, object);
  }
}

void ApiConformance::ForceDelete(const ResourceType& type, const Json& object) {
  (void)api_->Patch(type, KeyOf(object), PatchType::kMerge, {{"metadata", {{"finalizers", nullptr}}}});
  (void)api_->Delete(type, KeyOf(object), {.grace_period_seconds = 0});
}

Json ApiConformance::Job(const std::string& suffix) const {
  return {{"apiVersion", job_type().api_version()},
          {"kind", job_type().kind},
          {"metadata",
           {{"name", Named(suffix)}, {"namespace", GetParam().name_space}, {"labels", {{"test", prefix_ + "x"}}}}},
          {"spec", {{"workers", {{"replicas", 2}}}, {"goal", {{"epochs", 1}}}}}};
}

Json ApiConformance::Pod(const std::string& suffix) const {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", Named(suffix)}, {"namespace", GetParam().name_space}, {"labels", {{"test", prefix_ + "x"}}}}},
          {"spec",
           {{"schedulingGates", Json::array({{{"name", "attune.dev/test"}}})},
            {"containers", Json::array({{{"name", "main"}, {"image", "absent"}}})}}}};
}

Json ApiConformance::Created(const ResourceType& type, const Json& object) {
  StatusOr<Json> created = api_->Create(type, object);
  EXPECT_TRUE(created.ok()) << created.status();
  return created.ok() ? *created : Json();
}

Json ApiConformance::Read(const ResourceType& type, const std::string& suffix) {
  StatusOr<Json> read = api_->Get(type, Key(suffix));
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *read : Json();
}

std::string ApiConformance::VersionNow(const ResourceType& type) {
  StatusOr<ListResult> list = api_->List(type, {.name_space = GetParam().name_space, .label_selector = Selector()});
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? list->resource_version : "";
}

WatchOptions ApiConformance::WatchFrom(const std::string& resource_version) const {
  return {.name_space = GetParam().name_space,
          .label_selector = Selector(),
          .resource_version = resource_version,
          .server_timeout = seconds(60)};
}

// --- create, get, list

TEST_P(ApiConformance, CreateFillsInWhatTheServerOwns) {
  Json created = Created(job_type(), Job("a"));
  EXPECT_FALSE(Uid(created).empty());
  EXPECT_FALSE(ResourceVersion(created).empty());
  EXPECT_FALSE(StringAt(created, {"metadata", "creationTimestamp"}).empty());
  EXPECT_EQ(Generation(created), 1);
  Json read = Read(job_type(), "a");
  EXPECT_EQ(Uid(read), Uid(created));
  EXPECT_EQ(ResourceVersion(read), ResourceVersion(created));
  EXPECT_EQ(read["kind"], job_type().kind);
  EXPECT_EQ(read["apiVersion"], job_type().api_version());
  EXPECT_EQ(IntegerAt(read, {"spec", "workers", "replicas"}), 2);
}

TEST_P(ApiConformance, CreateOfAnExistingNameIsAlreadyExists) {
  Created(job_type(), Job("a"));
  StatusOr<Json> second = api_->Create(job_type(), Job("a"));
  EXPECT_EQ(CodeOf(second), StatusCode::kAlreadyExists);
  EXPECT_THAT(ToString(second.status()), HasSubstr(Named("a")));
}

TEST_P(ApiConformance, GenerateNameMakesDistinctNames) {
  Json object = Job("");
  object["metadata"].erase("name");
  object["metadata"]["generateName"] = Named("g-");
  Json first = Created(job_type(), object), second = Created(job_type(), object);
  EXPECT_TRUE(Name(first).starts_with(Named("g-"))) << Name(first);
  EXPECT_NE(Name(first), Name(second));
}

TEST_P(ApiConformance, BadNamesAreInvalidArgument) {
  for (const char* name : {"Upper", "under_score", "-dash", "dot.", "sla/sh", ""}) {
    Json object = Job("");
    object["metadata"]["name"] = name;
    EXPECT_EQ(CodeOf(api_->Create(job_type(), object)), StatusCode::kInvalidArgument) << '"' << name << '"';
  }
}

TEST_P(ApiConformance, MissingObjectsAreNotFoundAndNamed) {
  StatusOr<Json> got = api_->Get(kPods, Key("absent"));
  EXPECT_EQ(CodeOf(got), StatusCode::kNotFound);
  EXPECT_THAT(ToString(got.status()), HasSubstr("pods \"" + Named("absent") + "\" not found"));
  EXPECT_EQ(CodeOf(api_->Patch(job_type(), Key("absent"), PatchType::kMerge, {{"spec", Json::object()}})),
            StatusCode::kNotFound);
  EXPECT_EQ(CodeOf(api_->Delete(job_type(), Key("absent"))), StatusCode::kNotFound);
  EXPECT_EQ(CodeOf(api_->GetSubresource(job_type(), Key("absent"), "scale")), StatusCode::kNotFound);
}

TEST_P(ApiConformance, ListSelectsByLabelsAndFields) {
  struct {
    const char* suffix;
    const char* role;
  } jobs[] = {{"a", "server"}, {"b", "worker"}, {"c", nullptr}};
  for (const auto& job : jobs) {
    Json object = Job(job.suffix);
    if (job.role != nullptr) object["metadata"]["labels"]["role"] = job.role;
    Created(job_type(), object);
  }
  auto names = [&](const std::string& labels, const std::string& fields = "") {
    std::vector<std::string> found =
        NamesOf(api_->List(job_type(), {.name_space = GetParam().name_space,
                                        .label_selector = Selector() + (labels.empty() ? "" : "," + labels),
                                        .field_selector = fields}));
    for (std::string& name : found) {
      if (name.starts_with(Named(""))) name = name.substr(Named("").size());
    }
    return found;
  };
  EXPECT_THAT(names(""), UnorderedElementsAre("a", "b", "c"));
  EXPECT_THAT(names("role=server"), ElementsAre("a"));
  EXPECT_THAT(names("role==worker"), ElementsAre("b"));
  EXPECT_THAT(names("role!=server"), UnorderedElementsAre("b", "c"));
  EXPECT_THAT(names("role in (server,worker)"), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(names("role in (server, worker),role!=worker"), ElementsAre("a"));
  EXPECT_THAT(names("role notin (server)"), UnorderedElementsAre("b", "c"));
  EXPECT_THAT(names("role"), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(names("!role"), ElementsAre("c"));
  EXPECT_EQ(NamesOf(api_->List(job_type(),
                               {.name_space = GetParam().name_space, .label_selector = Selector(), .items_max = 2}))
                .size(),
            2U);
  EXPECT_THAT(names("", "metadata.name=" + Named("b")), ElementsAre("b"));
  EXPECT_THAT(names("", "metadata.name!=" + Named("b")), UnorderedElementsAre("a", "c"));
}

TEST_P(ApiConformance, ListOfAllNamespacesFindsTheObjectAndFillsInItsKind) {
  Created(job_type(), Job("a"));
  StatusOr<ListResult> list = api_->List(job_type(), {.label_selector = Selector()});
  ASSERT_EQ(NamesOf(list), std::vector<std::string>{Named("a")});
  EXPECT_EQ(list->items[0]["kind"], job_type().kind);
  EXPECT_EQ(list->items[0]["apiVersion"], job_type().api_version());
  EXPECT_FALSE(list->resource_version.empty());
  EXPECT_THAT(NamesOf(api_->List(job_type(), {.name_space = "kube-system", .label_selector = Selector()})),
              ElementsAre());
}

TEST_P(ApiConformance, BadSelectorIsInvalidArgument) {
  EXPECT_EQ(CodeOf(api_->List(job_type(), {.name_space = GetParam().name_space, .label_selector = "a in ("})),
            StatusCode::kInvalidArgument);
}

// --- update

TEST_P(ApiConformance, UpdateWithAnOldVersionIsAborted) {
  Json old = Created(job_type(), Job("a")), changed = old;
  changed["spec"]["workers"]["replicas"] = 3;
  StatusOr<Json> updated = api_->Update(job_type(), changed);
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_GT(Number(ResourceVersion(*updated)), Number(ResourceVersion(old)));
  old["spec"]["workers"]["replicas"] = 4;
  EXPECT_EQ(CodeOf(api_->Update(job_type(), old)), StatusCode::kAborted);
  EXPECT_EQ(IntegerAt(Read(job_type(), "a"), {"spec", "workers", "replicas"}), 3);
}

TEST_P(ApiConformance, UpdateThatChangesNothingKeepsTheVersion) {
  Json created = Created(job_type(), Job("a"));
  StatusOr<Json> updated = api_->Update(job_type(), created);
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(ResourceVersion(*updated), ResourceVersion(created));
}

TEST_P(ApiConformance, GenerationRisesOnSpecChangesOnly) {
  Created(job_type(), Job("a"));
  auto generation_after = [&](const Json& patch, const std::string& subresource = "") {
    StatusOr<Json> patched = api_->Patch(job_type(), Key("a"), PatchType::kMerge, patch, subresource);
    EXPECT_TRUE(patched.ok()) << patched.status();
    return patched.ok() ? Generation(*patched) : -1;
  };
  EXPECT_EQ(generation_after({{"metadata", {{"labels", {{"more", "yes"}}}}}}), 1);
  EXPECT_EQ(generation_after({{"status", {{"phase", "Running"}}}}, "status"), 1);
  EXPECT_EQ(generation_after({{"spec", {{"workers", {{"replicas", 2}}}}}}), 1);
  EXPECT_EQ(generation_after({{"spec", {{"workers", {{"replicas", 5}}}}}}), 2);
}

TEST_P(ApiConformance, ConcurrentReadModifyWriteLosesNothing) {
  Created(job_type(), Job("a"));
  constexpr int kThreads = 4, kEach = 5;
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int n = 0; n < kEach;) {
        StatusOr<Json> job = api_->Get(job_type(), Key("a"));
        if (!job.ok()) return void(++failures);
        (*job)["spec"]["workers"]["replicas"] = IntegerAt(*job, {"spec", "workers", "replicas"}) + 1;
        Status updated = api_->Update(job_type(), *job).status();
        if (updated.ok())
          ++n;
        else if (updated.code() != StatusCode::kAborted)
          return void(++failures);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(IntegerAt(Read(job_type(), "a"), {"spec", "workers", "replicas"}), 2 + kThreads * kEach);
}

// --- patches

TEST_P(ApiConformance, MergePatchSetsRemovesAndReplacesLists) {
  Json object = Job("a");
  object["spec"]["workers"]["args"] = {"one", "two"};
  object["metadata"]["labels"]["old"] = "x";
  Created(job_type(), object);
  StatusOr<Json> patched = api_->Patch(
      job_type(), Key("a"), PatchType::kMerge,
      {{"metadata", {{"labels", {{"old", nullptr}, {"fresh", "y"}}}}}, {"spec", {{"workers", {{"args", {"three"}}}}}}});
  ASSERT_TRUE(patched.ok()) << patched.status();
  EXPECT_EQ(At(*patched, {"spec", "workers", "args"}), Json({"three"}));
  EXPECT_EQ(IntegerAt(*patched, {"spec", "workers", "replicas"}), 2);
  EXPECT_EQ(Label(*patched, "fresh"), "y");
  EXPECT_TRUE(At(*patched, {"metadata", "labels", "old"}).is_null());
}

TEST_P(ApiConformance, PatchWithAnOldVersionIsAborted) {
  Json old = Created(job_type(), Job("a"));
  ASSERT_TRUE(api_->Patch(job_type(), Key("a"), PatchType::kMerge, {{"spec", {{"workers", {{"replicas", 3}}}}}}).ok());
  Json patch = {{"metadata", {{"resourceVersion", ResourceVersion(old)}}}, {"spec", {{"workers", {{"replicas", 4}}}}}};
  EXPECT_EQ(CodeOf(api_->Patch(job_type(), Key("a"), PatchType::kMerge, patch)), StatusCode::kAborted);
}

TEST_P(ApiConformance, JsonPatchAddsReplacesRemovesAndTests) {
  Created(job_type(), Job("a"));
  Json patch = Json::array({{{"op", "test"}, {"path", "/spec/workers/replicas"}, {"value", 2}},
                            {{"op", "replace"}, {"path", "/spec/workers/replicas"}, {"value", 6}},
                            {{"op", "add"}, {"path", "/metadata/annotations"}, {"value", {{"note", "x"}}}},
                            {{"op", "remove"}, {"path", "/spec/goal"}}});
  StatusOr<Json> patched = api_->Patch(job_type(), Key("a"), PatchType::kJson, patch);
  ASSERT_TRUE(patched.ok()) << patched.status();
  EXPECT_EQ(IntegerAt(*patched, {"spec", "workers", "replicas"}), 6);
  EXPECT_EQ(Annotation(*patched, "note"), "x");
  EXPECT_TRUE(At(*patched, {"spec", "goal"}).is_null());
  // The test fails now: nothing of the patch may happen.
  EXPECT_EQ(CodeOf(api_->Patch(job_type(), Key("a"), PatchType::kJson, patch)), StatusCode::kInvalidArgument);
  EXPECT_EQ(IntegerAt(Read(job_type(), "a"), {"spec", "workers", "replicas"}), 6);
}

TEST_P(ApiConformance, StrategicMergePatchIsRefusedForCustomKinds) {
  Created(job_type(), Job("a"));
  EXPECT_EQ(CodeOf(api_->Patch(job_type(), Key("a"), PatchType::kStrategicMerge,
                               {{"spec", {{"workers", {{"replicas", 3}}}}}})),
            StatusCode::kInvalidArgument);
}

// --- server-side apply

TEST_P(ApiConformance, ApplyCreatesChangesAndDropsOwnFieldsOnly) {
  Json object = Job("a");
  object["spec"]["servers"] = {{"replicas", 1}};
  ASSERT_TRUE(api_->Apply(job_type(), object, {.field_manager = "one"}).ok());
  ASSERT_TRUE(
      api_->Patch(job_type(), Key("a"), PatchType::kMerge, {{"metadata", {{"annotations", {{"other", "kept"}}}}}})
          .ok());
  object["spec"]["workers"]["replicas"] = 3;
  object["spec"].erase("servers");
  StatusOr<Json> applied = api_->Apply(job_type(), object, {.field_manager = "one"});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(IntegerAt(*applied, {"spec", "workers", "replicas"}), 3);
  EXPECT_TRUE(At(*applied, {"spec", "servers"}).is_null()) << applied->dump();
  EXPECT_EQ(Annotation(*applied, "other"), "kept");
}

TEST_P(ApiConformance, ApplyOfTheSameContentChangesNothing) {
  StatusOr<Json> first = api_->Apply(job_type(), Job("a"), {.field_manager = "one"});
  ASSERT_TRUE(first.ok()) << first.status();
  StatusOr<Json> second = api_->Apply(job_type(), Job("a"), {.field_manager = "one"});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(ResourceVersion(*second), ResourceVersion(*first));
}

TEST_P(ApiConformance, ApplyWithoutForceMeetsAnotherManagersField) {
  ASSERT_TRUE(api_->Apply(job_type(), Job("a"), {.field_manager = "one"}).ok());
  Json other = Job("a");
  other["spec"] = {{"workers", {{"replicas", 7}}}};
  StatusOr<Json> refused = api_->Apply(job_type(), other, {.field_manager = "two", .force = false});
  EXPECT_EQ(CodeOf(refused), StatusCode::kAborted);
  EXPECT_THAT(ToString(refused.status()), HasSubstr("\"one\""));
  EXPECT_EQ(IntegerAt(Read(job_type(), "a"), {"spec", "workers", "replicas"}), 2);
  ASSERT_TRUE(api_->Apply(job_type(), other, {.field_manager = "two", .force = true}).ok());
  EXPECT_EQ(IntegerAt(Read(job_type(), "a"), {"spec", "workers", "replicas"}), 7);
}

TEST_P(ApiConformance, ApplyingTheSameValueSharesTheField) {
  ASSERT_TRUE(api_->Apply(job_type(), Job("a"), {.field_manager = "one"}).ok());
  ASSERT_TRUE(api_->Apply(job_type(), Job("a"), {.field_manager = "two", .force = false}).ok());
  // One of two owners lets go: the value stays. Both: it is gone.
  Json less = Job("a");
  less["spec"].erase("goal");
  ASSERT_TRUE(api_->Apply(job_type(), less, {.field_manager = "one"}).ok());
  EXPECT_EQ(IntegerAt(Read(job_type(), "a"), {"spec", "goal", "epochs"}), 1);
  ASSERT_TRUE(api_->Apply(job_type(), less, {.field_manager = "two"}).ok());
  EXPECT_TRUE(At(Read(job_type(), "a"), {"spec", "goal"}).is_null());
}

TEST_P(ApiConformance, ApplyToStatusTouchesStatusOnly) {
  Created(job_type(), Job("a"));
  Json status = Job("a");
  status["spec"]["workers"]["replicas"] = 9;
  status["status"] = {{"phase", "Running"}};
  StatusOr<Json> applied = api_->Apply(job_type(), status, {.field_manager = "one", .subresource = "status"});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(StringAt(*applied, {"status", "phase"}), "Running");
  EXPECT_EQ(IntegerAt(*applied, {"spec", "workers", "replicas"}), 2);
}

TEST_P(ApiConformance, ApplyOfPods) {
  StatusOr<Json> applied = api_->Apply(kPods, Pod("p"), {.field_manager = "one"});
  ASSERT_TRUE(applied.ok()) << applied.status();
  StatusOr<Json> again = api_->Apply(kPods, Pod("p"), {.field_manager = "one"});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Uid(*again), Uid(*applied));
  EXPECT_EQ(ResourceVersion(*again), ResourceVersion(*applied));
}

// --- status and scale

TEST_P(ApiConformance, JobStatusAndSpecAreWrittenApart) {
  Json object = Job("a");
  object["status"] = {{"phase", "Forged"}};
  Json created = Created(job_type(), object);
  EXPECT_TRUE(At(created, {"status", "phase"}).is_null());
  Json changed = created;
  changed["status"] = {{"phase", "Running"}};
  changed["spec"]["workers"]["replicas"] = 8;
  StatusOr<Json> status_written = api_->Update(job_type(), changed, "status");
  ASSERT_TRUE(status_written.ok()) << status_written.status();
  EXPECT_EQ(StringAt(*status_written, {"status", "phase"}), "Running");
  EXPECT_EQ(IntegerAt(*status_written, {"spec", "workers", "replicas"}), 2);
  changed = *status_written;
  changed["status"]["phase"] = "Forged";
  changed["spec"]["workers"]["replicas"] = 4;
  StatusOr<Json> spec_written = api_->Update(job_type(), changed);
  ASSERT_TRUE(spec_written.ok()) << spec_written.status();
  EXPECT_EQ(StringAt(*spec_written, {"status", "phase"}), "Running");
  EXPECT_EQ(IntegerAt(*spec_written, {"spec", "workers", "replicas"}), 4);
}

TEST_P(ApiConformance, PodStatusIsWrittenThroughItsSubresource) {
  Json object = Pod("p");
  object["status"] = {{"podIP", "10.0.0.9"}};
  Json created = Created(kPods, object);
  EXPECT_EQ(StringAt(created, {"status", "phase"}), "Pending");
  EXPECT_EQ(StringAt(created, {"status", "podIP"}), "");
  Json patch = {{"status", {{"phase", "Running"}, {"podIP", "10.0.0.9"}}}};
  StatusOr<Json> ignored = api_->Patch(kPods, Key("p"), PatchType::kMerge, patch);
  ASSERT_TRUE(ignored.ok()) << ignored.status();
  EXPECT_EQ(StringAt(*ignored, {"status", "podIP"}), "");
  StatusOr<Json> written = api_->Patch(kPods, Key("p"), PatchType::kMerge, patch, "status");
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(StringAt(*written, {"status", "phase"}), "Running");
  EXPECT_EQ(StringAt(*written, {"status", "podIP"}), "10.0.0.9");
}

TEST_P(ApiConformance, ScaleReadsAndWritesTheWorkers) {
  Created(job_type(), Job("a"));
  ASSERT_TRUE(api_->Patch(job_type(), Key("a"), PatchType::kMerge,
                          {{"status", {{"workers", {{"replicas", 1}}}, {"workerSelector", "role=worker"}}}}, "status")
                  .ok());
  StatusOr<Json> scale = api_->GetSubresource(job_type(), Key("a"), "scale");
  ASSERT_TRUE(scale.ok()) << scale.status();
  EXPECT_EQ((*scale)["kind"], "Scale");
  EXPECT_EQ(IntegerAt(*scale, {"spec", "replicas"}), 2);
  EXPECT_EQ(IntegerAt(*scale, {"status", "replicas"}), 1);
  EXPECT_EQ(StringAt(*scale, {"status", "selector"}), "role=worker");
  (*scale)["spec"]["replicas"] = 3;
  ASSERT_TRUE(api_->Update(job_type(), *scale, "scale").ok());
  Json job = Read(job_type(), "a");
  EXPECT_EQ(IntegerAt(job, {"spec", "workers", "replicas"}), 3);
  EXPECT_EQ(Generation(job), 2);
  ASSERT_TRUE(api_->Patch(job_type(), Key("a"), PatchType::kMerge, {{"spec", {{"replicas", 5}}}}, "scale").ok());
  EXPECT_EQ(IntegerAt(Read(job_type(), "a"), {"spec", "workers", "replicas"}), 5);
}

// --- delete

TEST_P(ApiConformance, DeletedObjectsAreGone) {
  Created(job_type(), Job("a"));
  EXPECT_EQ(api_->Delete(job_type(), Key("a")), OkStatus());
  EXPECT_EQ(CodeOf(api_->Get(job_type(), Key("a"))), StatusCode::kNotFound);
}

TEST_P(ApiConformance, FinalizersKeepADeletedObjectUntilTheyAreRemoved) {
  Json object = Job("a");
  object["metadata"]["finalizers"] = {"attune.dev/test"};
  Created(job_type(), object);
  EXPECT_EQ(api_->Delete(job_type(), Key("a")), OkStatus());
  EXPECT_TRUE(IsBeingDeleted(Read(job_type(), "a")));
  EXPECT_EQ(api_->Delete(job_type(), Key("a")), OkStatus());
  EXPECT_EQ(CodeOf(api_->Create(job_type(), Job("a"))), StatusCode::kAlreadyExists);
  ASSERT_TRUE(
      api_->Patch(job_type(), Key("a"), PatchType::kMerge, {{"metadata", {{"finalizers", Json::array()}}}}).ok());
  EXPECT_EQ(CodeOf(api_->Get(job_type(), Key("a"))), StatusCode::kNotFound);
}

TEST_P(ApiConformance, DeleteOfAnotherUidIsAborted) {
  Json created = Created(job_type(), Job("a"));
  EXPECT_EQ(CodeOf(api_->Delete(job_type(), Key("a"), {.uid = "11111111-2222-3333-4444-555555555555"})),
            StatusCode::kAborted);
  EXPECT_TRUE(api_->Get(job_type(), Key("a")).ok());
  EXPECT_EQ(api_->Delete(job_type(), Key("a"), {.uid = std::string(Uid(created))}), OkStatus());
}

TEST_P(ApiConformance, DeleteOfAnOldVersionIsAborted) {
  const Json created = Created(job_type(), Job("a"));
  const auto changed = api_->Patch(job_type(), Key("a"), PatchType::kMerge, {{"metadata", {{"labels", {{"x", "y"}}}}}});
  ASSERT_TRUE(changed.ok());
  const std::string uid(Uid(created)), old(ResourceVersion(created)), newest(ResourceVersion(*changed));
  EXPECT_EQ(CodeOf(api_->Delete(job_type(), Key("a"), {.uid = uid, .resource_version = old})), StatusCode::kAborted);
  EXPECT_TRUE(api_->Get(job_type(), Key("a")).ok());
  EXPECT_EQ(api_->Delete(job_type(), Key("a"), {.uid = uid, .resource_version = newest}), OkStatus());
}

TEST_P(ApiConformance, PodsOnANodeStayForTheirGracePeriod) {
  Json object = Pod("p");
  object["spec"].erase("schedulingGates");
  object["spec"]["nodeName"] = "attune-absent-node";
  Created(kPods, object);
  EXPECT_EQ(api_->Delete(kPods, Key("p"), {.grace_period_seconds = 600}), OkStatus());
  Json going = Read(kPods, "p");
  EXPECT_TRUE(IsBeingDeleted(going));
  EXPECT_EQ(IntegerAt(going, {"metadata", "deletionGracePeriodSeconds"}), 600);
  EXPECT_EQ(api_->Delete(kPods, Key("p"), {.grace_period_seconds = 0}), OkStatus());
  EXPECT_EQ(CodeOf(api_->Get(kPods, Key("p"))), StatusCode::kNotFound);
}

TEST_P(ApiConformance, PodsThatWereNeverPlacedGoAtOnce) {
  Created(kPods, Pod("p"));
  EXPECT_EQ(api_->Delete(kPods, Key("p"), {.grace_period_seconds = 600}), OkStatus());
  EXPECT_EQ(CodeOf(api_->Get(kPods, Key("p"))), StatusCode::kNotFound);
}

// --- watch

TEST_P(ApiConformance, WatchTellsEveryChangeAfterItsVersionInOrder) {
  Created(job_type(), Job("before"));
  std::string version = VersionNow(job_type());
  Created(job_type(), Job("a"));
  SignalLog log;
  auto watch = api_->StartWatch(job_type(), WatchFrom(version), log.Handler());
  ASSERT_TRUE(watch.ok()) << watch.status();
  ASSERT_TRUE(api_->Patch(job_type(), Key("a"), PatchType::kMerge, {{"spec", {{"workers", {{"replicas", 3}}}}}}).ok());
  ASSERT_TRUE(api_->Delete(job_type(), Key("a")).ok());
  ASSERT_TRUE(log.WaitForChanges(3));
  EXPECT_THAT(log.Changes(), ElementsAre("added " + Named("a"), "modified " + Named("a"), "deleted " + Named("a")));
  uint64_t last = Number(version);
  for (const WatchSignal& signal : log.All()) {
    EXPECT_GT(Number(ResourceVersion(signal.object)), last) << "versions rise, that of the deletion too";
    last = Number(ResourceVersion(signal.object));
    EXPECT_EQ(signal.object["kind"], job_type().kind);
  }
  EXPECT_EQ(IntegerAt(log.All().back().object, {"spec", "workers", "replicas"}), 3)
      << "a deletion carries the last state";
}

TEST_P(ApiConformance, WatchWithASelectorTellsObjectsThatEnterAndLeaveIt) {
  Created(job_type(), Job("a"));
  WatchOptions options = WatchFrom(VersionNow(job_type()));
  options.label_selector += ",chosen=yes";
  SignalLog log;
  auto watch = api_->StartWatch(job_type(), options, log.Handler());
  ASSERT_TRUE(watch.ok()) << watch.status();
  auto label = [&](const Json& value) {
    EXPECT_TRUE(
        api_->Patch(job_type(), Key("a"), PatchType::kMerge, {{"metadata", {{"labels", {{"chosen", value}}}}}}).ok());
  };
  label("no");
  label("yes");
  EXPECT_TRUE(api_->Patch(job_type(), Key("a"), PatchType::kMerge, {{"spec", {{"workers", {{"replicas", 3}}}}}}).ok());
  label(nullptr);
  label("yes");
  ASSERT_TRUE(api_->Delete(job_type(), Key("a")).ok());
  ASSERT_TRUE(log.WaitForChanges(5));
  std::string a = Named("a");
  EXPECT_THAT(log.Changes(), ElementsAre("added " + a, "modified " + a, "deleted " + a, "added " + a, "deleted " + a));
}

TEST_P(ApiConformance, WatchOfOneNameTellsNothingElse) {
  WatchOptions options = WatchFrom(VersionNow(job_type()));
  options.field_selector = "metadata.name=" + Named("b");
  SignalLog log;
  auto watch = api_->StartWatch(job_type(), options, log.Handler());
  ASSERT_TRUE(watch.ok()) << watch.status();
  Created(job_type(), Job("a"));
  Created(job_type(), Job("b"));
  ASSERT_TRUE(log.WaitForChanges(1));
  EXPECT_THAT(log.Changes(), ElementsAre("added " + Named("b")));
}

TEST_P(ApiConformance, WatchFromAnExpiredVersionIsOutOfRange) {
  Created(job_type(), Job("a"));
  VersionNow(job_type());
  SignalLog log;
  WatchOptions options = WatchFrom(GetParam().expired_version(*api_));
  auto watch = api_->StartWatch(job_type(), options, log.Handler());
  ASSERT_TRUE(watch.ok()) << watch.status();
  ASSERT_TRUE(log.WaitUntil([](const auto& signals) { return !signals.empty(); }));
  ASSERT_EQ(log.All().size(), 1U);
  EXPECT_EQ(log.All()[0].kind, WatchSignal::Kind::kError);
  EXPECT_EQ(CodeOf(log.All()[0].status), StatusCode::kOutOfRange) << log.All()[0].status;
}

// Servers do not promise a bookmark to each watch (a busy one misses its moment): one of three is enough.
TEST_P(ApiConformance, BookmarkComesBeforeTheServerEndsTheWatch) {
  uint64_t bookmark = 0, written = 1;
  for (int round = 0; round < 3 && bookmark < written; ++round) {
    WatchOptions options = WatchFrom(VersionNow(job_type()));
    options.server_timeout = GetParam().watch_with_bookmark;
    SignalLog log;
    auto watch = api_->StartWatch(job_type(), options, log.Handler());
    ASSERT_TRUE(watch.ok()) << watch.status();
    Json unseen = Job("unseen-" + std::to_string(round));
    unseen["metadata"]["labels"] = Json::object();
    Json created = Created(job_type(), unseen);
    ForceDelete(job_type(), created);
    written = Number(ResourceVersion(created));
    ASSERT_TRUE(log.WaitUntil(
        [](const auto& signals) { return !signals.empty() && signals.back().kind == WatchSignal::Kind::kEnded; }));
    for (const WatchSignal& signal : log.All()) {
      if (signal.kind == WatchSignal::Kind::kBookmark) bookmark = Number(ResourceVersion(signal.object));
    }
  }
  EXPECT_GE(bookmark, written) << "the bookmark covers changes outside the selector";
}

TEST_P(ApiConformance, DestroyingAWatchEndsItsSignals) {
  SignalLog log;
  auto watch = api_->StartWatch(job_type(), WatchFrom(VersionNow(job_type())), log.Handler());
  ASSERT_TRUE(watch.ok()) << watch.status();
  Created(job_type(), Job("a"));
  ASSERT_TRUE(log.WaitForChanges(1));
  watch->reset();
  size_t before = log.All().size();
  Created(job_type(), Job("b"));
  EXPECT_EQ(log.All().size(), before);
}

}  // namespace attune::kube
