#include "base/net/loopback.h"

#include <gtest/gtest.h>

namespace attune::loopback_test {
namespace {

TEST(LoopbackTest, OnlyAddressesThatNoOtherMachineReaches) {
  for (const char* ip : {"127.0.0.1", "127.255.255.254", "127.80.1.10", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(IsLoopback(ip)) << ip;
  }
  for (const char* ip : {"0.0.0.0", "::", "10.0.0.1", "126.255.255.255", "128.0.0.1", "::2", "fe80::1", "::127.0.0.1",
                         "::ffff:10.0.0.1", "7f00::1", "localhost", "", "127.0.0.1:80", "127.1"}) {
    EXPECT_FALSE(IsLoopback(ip)) << ip;
  }
}

}  // namespace
}  // namespace attune::loopback_test
