#include "base/files/file_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/scratch.h"

namespace attune::file_tree_test {
namespace {

using ::testing::HasSubstr;

class FileTreeTest : public ::testing::Test {
 protected:
  StatusOr<FileTree> Look() const { return FileTree::Look(scratch_.path() / "model", time_, kNever); }
  const SystemTime time_;
  const Scratch scratch_;
};

TEST_F(FileTreeTest, ListsRegularFilesByPathAndNothingOutside) {
  scratch_.Write("secret", "outside");
  scratch_.Write("model/tables/b", "22");
  scratch_.Write("model/tables/a", "1");
  scratch_.Write("model/z", "");
  std::filesystem::create_symlink(scratch_.path() / "secret", scratch_.path() / "model/link");
  std::filesystem::create_directory_symlink(scratch_.path(), scratch_.path() / "model/up");
  ASSERT_EQ(::mkfifo((scratch_.path() / "model/pipe").c_str(), 0600), 0);
  scratch_.Write("model/bad\nname", "x");
  const auto tree = Look();
  ASSERT_TRUE(tree.ok()) << tree.status();
  const FileListing& listing = tree->listing();
  ASSERT_EQ(listing.files.size(), 3U);
  EXPECT_EQ(listing.files[0].path, "tables/a");
  EXPECT_EQ(listing.files[1].path, "tables/b");
  EXPECT_EQ(listing.files[1].size, 2U);
  EXPECT_GT(listing.files[1].written_at, 0);
  EXPECT_EQ(listing.files[2].path, "z");
  EXPECT_EQ(listing.left_out, 4U);
}

TEST_F(FileTreeTest, ADirectoryThatIsNotThereHoldsNothing) {
  const auto tree = Look();
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_TRUE(tree->listing().files.empty());
}

TEST_F(FileTreeTest, ReadsPiecesUpToTheEnd) {
  scratch_.Write("model/a", "0123456789");
  const auto tree = Look();
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Read(0, 0, 4).value_or("?"), "0123");
  EXPECT_EQ(tree->Read(0, 8, 4).value_or("?"), "89");
  EXPECT_EQ(tree->Read(0, 10, 4).value_or("?"), "");
  EXPECT_EQ(tree->Read(0, 11, 4).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(tree->Read(1, 0, 4).status().code(), StatusCode::kOutOfRange);
}

TEST_F(FileTreeTest, AFileThatIsNotWhatWasListedIsNotRead) {
  struct Case {
    const char* name;
    std::function<void(const std::filesystem::path& model)> change;
  };
  const Case cases[] = {
      {"removed", [](const auto& model) { std::filesystem::remove(model / "d/a"); }},
      {"longer", [&](const auto&) { scratch_.Write("model/d/a", "0123456789+"); }},
      {"shorter", [&](const auto&) { scratch_.Write("model/d/a", "012"); }},
      {"replaced by one of its size",
       [&](const auto& model) {
         scratch_.Write("model/new", "abcdefghij");
         std::filesystem::rename(model / "new", model / "d/a");
       }},
      {"replaced by a link",
       [&](const auto& model) {
         scratch_.Write("secret", "abcdefghij");
         std::filesystem::remove(model / "d/a");
         std::filesystem::create_symlink(scratch_.path() / "secret", model / "d/a");
       }},
      {"its directory replaced by a link",
       [&](const auto& model) {
         std::filesystem::rename(model / "d", scratch_.path() / "e");
         std::filesystem::create_directory_symlink(scratch_.path() / "e", model / "d");
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    std::filesystem::remove_all(scratch_.path() / "model");
    std::filesystem::remove_all(scratch_.path() / "e");
    scratch_.Write("model/d/a", "0123456789");
    const auto tree = Look();
    ASSERT_TRUE(tree.ok()) << tree.status();
    c.change(scratch_.path() / "model");
    EXPECT_EQ(tree->Read(0, 0, 4).status().code(), StatusCode::kAborted);
  }
}

TEST_F(FileTreeTest, ALookEndsInTime) {
  scratch_.Write("model/a", "1");
  ManualTime time;
  time.Advance(std::chrono::seconds(2));
  const auto tree = FileTree::Look(scratch_.path() / "model", time, MonotonicTime{} + std::chrono::seconds(1));
  ASSERT_EQ(tree.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(tree.status())), HasSubstr("try again"));
}

}  // namespace
}  // namespace attune::file_tree_test
