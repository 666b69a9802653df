// attune inspect and attune export on a directory with two checkpoints, the newer one damaged or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "cli/commands/commands.h"
#include "cli/runs/run_record.h"
#include "ps/checkpoint/checkpoint_writer.h"
#include "ps/checkpoint/part_writer.h"
#include "tests/scratch.h"

namespace attune::cli::models_test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

// Paths in the recorded text are relative: the test works inside a directory of its own.
class Models : public testing::Test {
 protected:
  Models() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(directory_);
    ::setenv("XDG_STATE_HOME", (directory_ / "state").c_str(), 1);  // only the runs of this test
    time_.Advance(std::chrono::hours(1));
    Write(20, {});
    time_.Advance(std::chrono::minutes(10));
    Write(1500, {.synchronization = "bsp", .clock = 412});
  }
  ~Models() override {
    std::filesystem::current_path(before_);
    ::unsetenv("XDG_STATE_HOME");
  }

  void Write(uint64_t rows, const ps::CutRecord& cut) {
    ps::CheckpointWriter writer(ps::RealFileSystem(), time_, {.job_uid = "job-1", .protocol_version = 1});
    const auto plan = writer.Begin("model/tables");
    ASSERT_TRUE(plan.ok()) << plan.status();
    ps::CheckpointParts parts{.cut = cut};
    for (const char* name : {"input", "output"}) {
      const auto store = *ps::TableStore::Create({name, {.dim = 4}});
      for (ps::Key key = 0; key < rows; ++key) {
        const std::vector<float> gradient(4, -1.0F);
        ASSERT_TRUE(store->Push({&key, 1}, gradient).ok());
      }
      ps::StoreRowSource source(*store);
      ps::Throttle throttle(0, time_);
      const auto part =
          ps::WritePart(ps::RealFileSystem(),
                        {.directory = "model/tables", .checkpoint = plan->number, .job_uid = "job-1", .part = "0"},
                        {&source}, {}, throttle);
      ASSERT_TRUE(part.ok()) << part.status();
      parts.tables.push_back({.spec = store->spec(), .rows = rows, .files = {part->tables[0].file}});
    }
    ASSERT_TRUE(writer.Commit(*plan, parts).ok());
  }

  template <typename Command>
  int Capture(Command&& command) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = command();
    output_ = testing::internal::GetCapturedStdout();
    errors_ = testing::internal::GetCapturedStderr();
    return code;
  }
  int RunInspect(const InspectArguments& arguments) {
    return Capture([&] { return Inspect(arguments); });
  }
  int RunExport(const ExportArguments& arguments) {
    return Capture([&] { return Export(arguments); });
  }

  const std::filesystem::path before_;
  const Scratch scratch_;
  const std::filesystem::path& directory_ = scratch_.path();
  ManualTime time_;
  std::string output_, errors_;
};

TEST_F(Models, ARunIsAsGoodAsTheDirectoryInIt) {
  namespace fs = std::filesystem;
  fs::create_directories("attune-runs/first/claims/model/word2vec");
  fs::rename("model/tables", "attune-runs/first/claims/model/word2vec/checkpoints");
  RunRecord record;
  record.name = "first";
  record.outcome = RunOutcome::kSucceeded;
  record.jobs.emplace_back().name = "word2vec";
  ASSERT_TRUE(WriteFileAtomically(fs::path("attune-runs/first") / kRunFile, SaveRecord(record)).ok());
  for (const char* name : {"first", "word2vec", "attune-runs/first", "attune-runs/first/claims/model"}) {
    EXPECT_EQ(RunInspect({.directory = name}), 0) << name << ": " << errors_;
    EXPECT_THAT(output_, HasSubstr("whole")) << name;
    EXPECT_EQ(RunExport({.directory = name, .format = "npz", .to = "v.npz"}), 0) << name << ": " << errors_;
  }
  EXPECT_EQ(RunInspect({.directory = "second"}), 1);
  EXPECT_THAT(errors_, HasSubstr("'second'"));
}

TEST_F(Models, InspectListsWhatIsThere) {
  EXPECT_EQ(RunInspect({.directory = "model"}), 0);
  EXPECT_THAT(output_, MatchesRegex("CHECKPOINT +WRITTEN +CLOCK +ROWS +SIZE +TABLES +STATE\n"
                                    "1 +2023-11-14T23:13:20Z +- +40 +[0-9.]+ K?i?B +input,output +whole\n"
                                    "2 +2023-11-14T23:23:20Z +412 +3000 +[0-9.]+ K?i?B +input,output +whole\n"));
  EXPECT_EQ(RunInspect({.directory = "model/tables", .verify = true, .json = true}), 0);
  const auto second = nlohmann::json::parse(output_.substr(output_.find('\n') + 1));
  EXPECT_EQ(second.at("checkpoint"), 2);
  EXPECT_EQ(second.at("whole"), true);
  EXPECT_EQ(second.at("clock"), 412);
  EXPECT_EQ(second.at("rows"), 3000);
  EXPECT_EQ(second.at("bytes"), second.at("ownBytes"));
  EXPECT_EQ(second.at("tables").at(0).at("name"), "input");
}

TEST_F(Models, InspectTellsDamage) {
  std::fstream("model/tables/00000002.input.0.rows", std::ios::in | std::ios::out | std::ios::binary)
      .seekp(200)
      .put('x');
  EXPECT_EQ(RunInspect({.directory = "model"}), 0) << "the rows are not read";
  EXPECT_EQ(RunInspect({.directory = "model", .verify = true}), 1);
  EXPECT_THAT(output_, HasSubstr("input,output   verified\n"));
  EXPECT_THAT(output_, HasSubstr("input,output   damaged\n"));
  EXPECT_THAT(output_, HasSubstr("checkpoint 2: 'model/tables/00000002.input.0.rows' of table 'input' is damaged"));
}

TEST_F(Models, ExportWritesTheNewestOrTheOneAskedFor) {
  EXPECT_EQ(RunExport({.directory = "model", .format = "npz"}), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("model.npz: checkpoint 2,"));
  EXPECT_THAT(output_, HasSubstr("input: 1500 rows of 4 values"));
  EXPECT_TRUE(std::filesystem::exists("model.npz"));
  EXPECT_EQ(RunExport({.directory = "model",
                       .format = "word2vec-text",
                       .tables = {"input"},
                       .to = "vectors.txt",
                       .checkpoint = 1,
                       .json = true}),
            0);
  const auto bytes = std::filesystem::file_size("vectors.txt");
  EXPECT_EQ(output_, "{\"bytes\":" + std::to_string(bytes) +
                         ",\"checkpoint\":1,\"file\":\"vectors.txt\",\"tables\":[{\"dim\":4,\"name\":\"input\","
                         "\"rows\":20}]}\n");
}

TEST_F(Models, ExportWritesToStandardOutputAndDevicesAndThroughLinks) {
  const auto to = [&](const std::string& name) {
    return RunExport({.directory = "model", .format = "word2vec-text", .tables = {"input"}, .to = name});
  };
  ASSERT_EQ(to("vectors.txt"), 0) << errors_;
  const std::string vectors = *ReadFile("vectors.txt");
  EXPECT_EQ(to("-"), 0) << errors_;
  EXPECT_EQ(output_, vectors) << "and nothing else";
  EXPECT_THAT(errors_, HasSubstr("input: 1500 rows of 4 values"));
  EXPECT_FALSE(std::filesystem::exists("-"));
  std::filesystem::create_symlink("/dev/full", "full");
  EXPECT_EQ(to("full"), 1);
  EXPECT_THAT(errors_, HasSubstr("No space left on device"));
  EXPECT_TRUE(std::filesystem::is_symlink("full"));
  std::filesystem::create_symlink("vectors.txt", "link");
  EXPECT_EQ(to("link"), 0) << errors_;
  EXPECT_TRUE(std::filesystem::is_symlink("link"));
  EXPECT_EQ(*ReadFile("vectors.txt"), vectors);
}

TEST_F(Models, ExportPassesOverADamagedOneAloud) {
  std::filesystem::resize_file("model/tables/00000002.input.0.rows", 1000);
  EXPECT_EQ(RunExport({.directory = "model", .format = "safetensors"}), 0);
  EXPECT_THAT(errors_, HasSubstr("passing over a newer checkpoint: checkpoint 2"));
  EXPECT_THAT(output_, HasSubstr("checkpoint 1,"));
  EXPECT_EQ(RunExport({.directory = "model", .format = "safetensors", .checkpoint = 2}), 1);
  EXPECT_THAT(errors_, HasSubstr("whole are: 1"));
}

TEST_F(Models, MistakesAreNamed) {
  EXPECT_EQ(RunExport({.directory = "modell", .format = "npz"}), 1);
  EXPECT_THAT(errors_, HasSubstr("'modell'"));
  EXPECT_EQ(RunExport({.directory = "model", .format = "word2vec-text"}), 2);
  EXPECT_THAT(errors_, HasSubstr("--table"));
  EXPECT_EQ(RunExport({.directory = "model", .format = "npz", .to = "absent/file.npz"}), 1);
  EXPECT_THAT(errors_, HasSubstr("absent/file.npz"));
  EXPECT_EQ(RunInspect({.directory = "/"}), 1);
  EXPECT_THAT(errors_, HasSubstr("holds no checkpoint"));
}

}  // namespace
}  // namespace attune::cli::models_test
