#include "ps/checkpoint/format/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ps/checkpoint/format/crc32c.h"

namespace attune::ps::manifest_test {
namespace {

using testing::HasSubstr;

CheckpointFile File(const std::string& name, uint64_t checkpoint) {
  return {.name = name, .checkpoint = checkpoint, .rows = 10, .erased = 1, .bytes = 12345, .digest = 0xFFFFFFFF};
}

Manifest Example() {
  Manifest manifest{.number = 7, .base = 6, .job_uid = "job \xFF", .written_at = 1'763'737'261, .protocol_version = 3};
  manifest.cut = {.synchronization = "ssp:4", .clock = 1000, .steps = 4000, .seconds = 61.5};
  manifest.cut.data_sets = {{.name = "train",
                             .items = 100,
                             .epochs = 3,
                             .lease_items = 10,
                             .finished_epochs = 1,
                             .done = {{1, 0, 50}, {2, 0, 10}},
                             .open = {{1, 50, 60, 55}},
                             .reprocessed_items = 4}};
  manifest.cut.metrics = {{.name = "recall",
                           .maximize = true,
                           .reports = 5,
                           .left_out = 1,
                           .value = 0.5,
                           .best = 1.0 / 3,
                           .at = {900, 4, 400},
                           .best_at = {700, 3, 300},
                           .reference = 0.625,
                           .without_gain = 2},
                          {.name = "silent", .left_out = 2, .at = {}, .best_at = {}}};
  manifest.cut.best = BestCheckpoint{.metric = "recall",
                                     .maximize = true,
                                     .value = 1.0 / 3,
                                     .at = {700, 3, 300},
                                     .directory = "/c \xFF",
                                     .checkpoint = 4};
  manifest.tables.push_back({.spec = {"in/out",
                                      {.dim = 64,
                                       .optimizer = Adagrad{.rate = 0.1F, .initial_accumulator = 0.3F},
                                       .initializer = UniformInitializer{-1.0F / 3, 1.0F / 3},
                                       .seed = UINT64_MAX,
                                       .rows_max = 9,
                                       .schedule = {LearningRateDecay::kCosine, 10, 100, 0.1F},
                                       .value_type = ValueType::kBfloat16,
                                       .non_finite_gradients = NonFiniteGradients::kSkipRow}},
                             .files = {File("00000006.in%2Fout.0.rows", 6), File("00000007.in%2Fout.0.rows", 7)},
                             .rows = 20});
  manifest.tables.push_back(
      {.spec = {"\"\\\x01\xC3\xA9%", {.dim = 1, .initializer = NormalInitializer{1, 2}}}, .files = {}, .rows = 0});
  manifest.filters = {File("00000007.0.filter", 7)};
  return manifest;
}

// With a first line that fits, as a person with an editor would have to make it.
std::string WithChecksum(std::string text) {
  const size_t end = text.find('\n') + 1;
  char line[64];
  std::snprintf(line, sizeof line, "{\"crc32c\": \"%08x\",\n", Crc32c(0, std::string_view(text).substr(end)));
  return line + text.substr(end);
}

TEST(ManifestTest, ReadsBackWhatWasWritten) {
  const Manifest manifest = Example();
  const std::string text = EncodeManifest(manifest);
  EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  const auto read = DecodeManifest(text);
  ASSERT_TRUE(read.ok()) << read.status() << "\n" << text;
  EXPECT_EQ(read->number, 7U);
  EXPECT_EQ(read->base, 6U);
  EXPECT_EQ(read->job_uid, manifest.job_uid);
  EXPECT_EQ(read->written_at, manifest.written_at);
  EXPECT_EQ(read->protocol_version, 3U);
  EXPECT_EQ(read->cut, manifest.cut);
  EXPECT_EQ(read->filters, manifest.filters);
  ASSERT_EQ(read->tables.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->tables[i].spec, manifest.tables[i].spec);
    EXPECT_EQ(read->tables[i].files, manifest.tables[i].files);
    EXPECT_EQ(read->tables[i].rows, manifest.tables[i].rows);
  }
  EXPECT_EQ(EncodeManifest(*read), text);
}

TEST(ManifestTest, AChangedByteAndAnyShorterLengthAreFound) {
  const std::string whole = EncodeManifest(Example());
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x04);
    ASSERT_EQ(DecodeManifest(damaged).status().code(), StatusCode::kDataLoss) << "byte " << i;
    ASSERT_EQ(DecodeManifest(whole.substr(0, i)).status().code(), StatusCode::kDataLoss) << "length " << i;
  }
}

TEST(ManifestTest, WhatCannotBeIsRefusedThoughItsChecksumFits) {
  struct Case {
    const char* name;
    const char* from;
    const char* to;
    StatusCode want;
    const char* want_text;
  };
  const Case kTable[] = {
      {"another version", "\"formatVersion\": 2", "\"formatVersion\": 9", StatusCode::kFailedPrecondition, "version 9"},
      {"another byte order", "\"little\"", "\"big\"", StatusCode::kFailedPrecondition, "byte order"},
      {"another format", "attune-checkpoint", "attune-chickpoint", StatusCode::kDataLoss, "another format"},
      {"a file outside", "00000007.0.filter", "../../etc/passwd", StatusCode::kDataLoss, "outside"},
      {"a hidden file", "00000007.0.filter", ".filter", StatusCode::kDataLoss, "outside"},
      {"number 0", "\"checkpoint\": 7,\n \"cut\"", "\"checkpoint\": 0,\n \"cut\"", StatusCode::kDataLoss, "number"},
      {"an unknown optimizer", "\"Adagrad\"", "\"magic\"", StatusCode::kDataLoss, "magic"},
      {"an unknown initializer", "\"UniformInitializer\"", "\"random\"", StatusCode::kDataLoss, "random"},
      {"an unknown dtype", "\"bfloat16\"", "\"int4\"", StatusCode::kDataLoss, "int4"},
      {"a dim of 0", "\"dim\": 64", "\"dim\": 0", StatusCode::kDataLoss, "dim"},
      {"a text for a number", "\"dim\": 64", "\"dim\": \"64\"", StatusCode::kDataLoss, "type"},
      {"a lease that ends first", "\"items\": 100", "\"items\": 52", StatusCode::kDataLoss, "lease"},
      {"no tables", "\"tables\"", "\"chairs\"", StatusCode::kDataLoss, "tables"},
  };
  const std::string whole = EncodeManifest(Example());
  for (const Case& test : kTable) {
    std::string text = whole;
    const size_t at = text.find(test.from);
    ASSERT_NE(at, std::string::npos) << test.name << "\n" << text;
    text.replace(at, std::string(test.from).size(), test.to);
    const Status status = DecodeManifest(WithChecksum(text)).status();
    EXPECT_EQ(status.code(), test.want) << test.name << ": " << status;
    EXPECT_THAT(std::string(Message(status)), HasSubstr(test.want_text)) << test.name;
  }
}

TEST(ManifestTest, DifferencesThatWouldLoadWrongRowsAreNamed) {
  const TableSpec spec = Example().tables[0].spec;
  const auto expect = [&](auto change, const char* want) {
    TableSpec wanted = spec;
    change(wanted.options);
    EXPECT_THAT(Difference(spec, wanted), HasSubstr(want));
  };
  expect([](TableOptions& o) { o.dim = 6; }, "dim 64, the program wants 6");
  expect([](TableOptions& o) { o.optimizer = Sgd{}; }, "optimizer Adagrad(");
  expect([](TableOptions& o) { o.initializer = UniformInitializer{-1, 2}; }, "initializer");
  expect([](TableOptions& o) { o.initializer = NormalInitializer{}; }, "initializer");
  expect([](TableOptions& o) { o.seed = 12; }, "seed");
  TableSpec other_rate = spec;
  other_rate.options.optimizer = Adagrad{.rate = 0.5F};
  other_rate.options.rows_max = 1;
  EXPECT_EQ(Difference(spec, other_rate), "") << "a rate and a limit may change between runs";
}

TEST(ManifestTest, NamesOfTablesBecomeNamesOfFiles) {
  EXPECT_EQ(EscapeForFileName("in/out"), "in%2Fout");
  EXPECT_EQ(EscapeForFileName("a-b_c.d9"), "a-b_c.d9");
  const std::string long_a(250, 'a');
  EXPECT_LE(EscapeForFileName(long_a).size(), 120U);
  EXPECT_NE(EscapeForFileName(long_a), EscapeForFileName(long_a + "b"));
}

}  // namespace
}  // namespace attune::ps::manifest_test
