#include "base/os/output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/os/file.h"
#include "tests/scratch.h"

namespace attune::output_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class OutputTest : public testing::Test {
 protected:
  std::string At(const std::string& name) const { return (directory_ / name).string(); }
  static Status Write(const std::string& name, std::string_view content) {
    ASSIGN_OR_RETURN(const OutputPlace place, FindOutputPlace(name));
    return WriteOutput(place, content);
  }
  static unsigned ModeOf(const std::string& name) {
    struct stat info {};
    return ::stat(name.c_str(), &info) == 0 ? info.st_mode & 07777U : 0;
  }

  const Scratch scratch_;
  const fs::path& directory_ = scratch_.path();
};

TEST_F(OutputTest, AFileIsReplacedWholeAndKeepsItsMode) {
  ASSERT_TRUE(Write(At("page"), "one").ok());
  EXPECT_EQ(ModeOf(At("page")), 0644U);
  ASSERT_EQ(::chmod(At("page").c_str(), 0600), 0);
  ASSERT_TRUE(Write(At("page"), "two").ok());
  EXPECT_EQ(*ReadFile(At("page")), "two");
  EXPECT_EQ(ModeOf(At("page")), 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1) << "no temporary file is left";
}

TEST_F(OutputTest, ASymbolicLinkStaysAndWhatItLeadsToIsReplaced) {
  fs::create_directory(directory_ / "there");
  ASSERT_TRUE(Write(At("there/page"), "one").ok());
  fs::create_symlink("there/page", directory_ / "link");
  fs::create_symlink("link", directory_ / "second");
  fs::create_symlink("there/new", directory_ / "to-nothing");
  ASSERT_TRUE(Write(At("second"), "two").ok());
  ASSERT_TRUE(Write(At("to-nothing"), "three").ok());
  EXPECT_TRUE(fs::is_symlink(directory_ / "second") && fs::is_symlink(directory_ / "link"));
  EXPECT_EQ(*ReadFile(At("there/page")), "two");
  EXPECT_TRUE(fs::is_symlink(directory_ / "to-nothing"));
  EXPECT_EQ(*ReadFile(At("there/new")), "three");
}

TEST_F(OutputTest, APipeIsWrittenToAndStaysAPipe) {
  const std::string pipe = At("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = ReadFile(pipe).value_or("nothing"); });
  EXPECT_TRUE(Write(pipe, "content").ok());
  reader.join();
  EXPECT_EQ(read, "content");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(OutputTest, ADeviceIsWrittenToAlsoThroughALinkAndItsErrorsCount) {
  fs::create_symlink("/dev/full", directory_ / "full");
  fs::create_symlink("/dev/null", directory_ / "null");
  EXPECT_TRUE(Write(At("null"), "content").ok());
  for (const std::string& name : {std::string("/dev/full"), At("full")}) {
    const Status status = Write(name, "content");
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(std::string(Message(status)), HasSubstr("No space left on device"));
    EXPECT_TRUE(fs::is_character_file(name));
  }
  EXPECT_TRUE(fs::is_symlink(directory_ / "full") && fs::is_symlink(directory_ / "null"));
}

TEST_F(OutputTest, WhatCannotBeWrittenIsRefusedBeforeTheWork) {
  ASSERT_TRUE(Write(At("file"), "").ok());
  fs::create_symlink("b", directory_ / "a");
  fs::create_symlink("a", directory_ / "b");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  At("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(socket);
  const std::pair<std::string, const char*> kTable[] = {{directory_.string(), "is a directory; name a file in it"},
                                                        {At("new/"), "is a directory; name a file in it"},
                                                        {At("absent/page"), "No such file or directory"},
                                                        {At("file/page"), "Not a directory"},
                                                        {At("socket"), "is a socket"},
                                                        {At("a"), "symbolic links"},
                                                        {"", "a name is needed"}};
  for (const auto& [name, want] : kTable) {
    const auto place = FindOutputPlace(name);
    ASSERT_FALSE(place.ok()) << name;
    EXPECT_THAT(std::string(Message(place.status())), HasSubstr(want)) << name;
  }
}

TEST_F(OutputTest, AFileWithoutTheRightToWriteIsRefused) {
  ASSERT_TRUE(Write(At("page"), "one").ok());
  ASSERT_EQ(::chmod(At("page").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(At(".").c_str(), 0755), 0);
  const auto refused = [&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) std::_Exit(2);  // root may write everywhere
    if (::access(At("page").c_str(), R_OK) != 0) std::_Exit(3);   // the directories above must not be the reason
    std::_Exit(FindOutputPlace(At("page")).status().code() == StatusCode::kPermissionDenied ? 0 : 1);
  };
  EXPECT_EXIT(refused(), testing::ExitedWithCode(0), "");
}

TEST_F(OutputTest, AMinusAndNamesThatLeadThereAreStandardOutput) {
  for (const char* name : {"-", "/dev/stdout"}) {
    testing::internal::CaptureStdout();
    const auto place = FindOutputPlace(name);
    std::printf("before ");
    const Status written = place.ok() ? WriteOutput(*place, "content") : place.status();
    const std::string output = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(written.ok()) << written;
    EXPECT_EQ(place->kind, OutputPlace::Kind::kStandardOutput) << name;
    EXPECT_EQ(output, "before content") << name;
  }
  EXPECT_FALSE(fs::exists("-"));
}

}  // namespace
}  // namespace attune::output_test
