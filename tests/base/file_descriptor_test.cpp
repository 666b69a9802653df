#include "base/os/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>
#include <utility>

namespace attune::file_descriptor_test {
namespace {

int OpenNull() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool IsOpen(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(FileDescriptorTest, IsClosedWithItsOwner) {
  const int fd = OpenNull();
  {
    const FileDescriptor owner(fd);
    EXPECT_TRUE(owner.valid());
    EXPECT_EQ(owner.get(), fd);
    EXPECT_TRUE(IsOpen(fd));
  }
  EXPECT_FALSE(IsOpen(fd));
}

TEST(FileDescriptorTest, HasOneOwnerAtATime) {
  static_assert(!std::is_copy_constructible_v<FileDescriptor> && !std::is_copy_assignable_v<FileDescriptor>);
  const int fd = OpenNull(), replaced = OpenNull();
  FileDescriptor first(fd);
  FileDescriptor second(std::move(first));
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): that is what is tested
  FileDescriptor third(replaced);
  third = std::move(second);
  EXPECT_FALSE(second.valid());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(third.get(), fd);
  EXPECT_TRUE(IsOpen(fd));
  EXPECT_FALSE(IsOpen(replaced)) << "what the target of a move had is closed";
  FileDescriptor& same = third;
  third = std::move(same);
  EXPECT_TRUE(IsOpen(fd)) << "a move to itself changes nothing";
}

TEST(FileDescriptorTest, WhatIsReleasedStaysOpen) {
  const int fd = OpenNull();
  {
    FileDescriptor owner(fd);
    EXPECT_EQ(owner.Release(), fd);
    EXPECT_FALSE(owner.valid());
  }
  EXPECT_TRUE(IsOpen(fd));
  ::close(fd);
}

TEST(FileDescriptorTest, AFailedCallOwnsNothing) {
  FileDescriptor none(::open("/absent/file", O_RDONLY));
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(none.Close(), 0);
}

TEST(FileDescriptorTest, CloseReportsItsErrorAndKeepsAnEarlierOne) {
  const int fd = OpenNull();
  FileDescriptor owner(fd);
  ::close(fd);  // so that closing fails
  errno = ENOSPC;
  EXPECT_EQ(owner.Close(), EBADF);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(owner.Close(), 0) << "once";
}

}  // namespace
}  // namespace attune::file_descriptor_test
