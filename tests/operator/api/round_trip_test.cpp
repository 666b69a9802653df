// Whatever manifest is accepted, it is the same after it has been read and written again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <limits>

#include "base/os/random_seed.h"
#include "base/random.h"
#include "operator/api/fields.h"

namespace attune::api::round_trip_test {
namespace {

using ::testing::IsEmpty;

Json Minimal() {
  return Json::parse(R"({
    "apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "word2vec"},
    "spec": {"workers": {"template": {"spec": {"containers": [{"name": "worker", "image": "w"}]}}}}})");
}

// One that the field takes by itself; null: it is left out.
Json Draw(const Field& field, Random& random) {
  switch (field.type) {
    case FieldType::kInteger: {
      const int64_t low = field.minimum.value_or(0), high = field.maximum.value_or(1LL << 53);
      const uint64_t span = static_cast<uint64_t>(high - low);
      // Small ones more often: large ones break rules between fields.
      return low + static_cast<int64_t>(random.Below(std::min<uint64_t>(span, random.Below(2) == 0 ? 5 : 1 << 30) + 1));
    }
    case FieldType::kNumber:
      return static_cast<double>(random.Below(1000)) / 8;
    case FieldType::kBoolean:
      return random.Below(2) == 0;
    case FieldType::kChoice:
      return field.choices.at(random.Below(field.choices.size()));
    case FieldType::kQuantity:
      for (const char* text : {"1500m", "3Gi", "2"}) {
        if (random.Below(2) == 0 && field.fits(text)) return text;
      }
      return nullptr;
    case FieldType::kString: {
      for (const char* text : {"/shared/a", "some-name"}) {
        if (random.Below(2) == 0 && (!field.fits || field.fits(text))) return text;
      }
      return nullptr;
    }
    default:
      return nullptr;
  }
}

Json DrawManifest(Random& random) {
  Json job = Minimal();
  const uint64_t share = 2 + random.Below(30);
  for (const Field& field : Fields()) {
    if (!field.path.starts_with("spec.") || random.Below(share) != 0) continue;
    const Json value = Draw(field, random);
    if (value.is_null()) continue;
    std::string pointer = "/" + field.path;
    std::ranges::replace(pointer, '.', '/');
    job[Json::json_pointer(pointer)] = value;
  }
  return job;
}

// What a manifest states, one line for each member; amounts in the words in which they are written back.
void Collect(const std::string& path, const Json& value, std::map<std::string, Json>& stated) {
  if (path == "spec.workers.template") return;
  if (!value.is_object()) {
    stated[path] = value;
    return;
  }
  for (const auto& [name, member] : value.items()) Collect(path + "." + name, member, stated);
}

TEST(RoundTrip, OfDrawnManifestsLosesNothing) {
  const char* given = std::getenv("ATTUNE_SEED");
  const uint64_t seed = given == nullptr ? RandomSeed() : std::strtoull(given, nullptr, 10);
  std::cout << "ATTUNE_SEED=" << seed << "\n";
  Random random(seed);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    const Json job = DrawManifest(random);
    const ParsedJob first = ParseTrainingJob(job);
    if (!first.problems.empty()) continue;  // a rule between fields
    ++accepted;
    Json again = job;
    again["spec"] = ToJson(first.job.spec);
    const ParsedJob second = ParseTrainingJob(again);
    ASSERT_THAT(second.problems, IsEmpty()) << again["spec"].dump(1);
    ASSERT_EQ(ToJson(second.job.spec), again["spec"]);
    std::map<std::string, Json> stated, written;
    Collect("spec", job["spec"], stated);
    Collect("spec", again["spec"], written);
    for (const auto& [path, value] : stated) {
      const Field* field = FindField(path);
      ASSERT_NE(field, nullptr) << path;
      // Absent means its first choice, or nothing, for fields that are written so.
      if (!written.contains(path)) {
        EXPECT_TRUE(value == "" || field->type == FieldType::kChoice) << path << " " << value;
        continue;
      }
      if (field->type != FieldType::kQuantity) {
        EXPECT_EQ(written[path], value) << path;
      }
    }
  }
  EXPECT_GT(accepted, 100) << "too few of them are manifests";
}

}  // namespace
}  // namespace attune::api::round_trip_test
