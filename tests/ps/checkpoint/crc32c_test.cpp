#include "ps/checkpoint/format/crc32c.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::crc32c_test {
namespace {

TEST(Crc32cTest, HasTheKnownValues) {  // RFC 3720, B.4, and the usual check value
  const std::string zeros(32, '\0'), ones(32, '\xFF');
  std::string ascending;
  for (char c = 0; c < 32; ++c) ascending.push_back(c);
  for (auto* crc : {&Crc32c, &PortableCrc32c}) {
    EXPECT_EQ(crc(0, "123456789"), 0xE3069283U);
    EXPECT_EQ(crc(0, zeros), 0x8A9136AAU);
    EXPECT_EQ(crc(0, ones), 0x62A8AB43U);
    EXPECT_EQ(crc(0, ascending), 0x46DD794EU);
    EXPECT_EQ(crc(0, ""), 0U);
  }
}

TEST(Crc32cTest, TheInstructionAndTheTableAgreeAndChain) {
  Random random(TestSeed("strings of up to 300 bytes"));
  for (int i = 0; i < 500; ++i) {
    std::string bytes(random.Below(300), '\0');
    for (char& c : bytes) c = static_cast<char>(random.Next());
    const size_t cut = random.Below(bytes.size() + 1);
    const uint32_t whole = Crc32c(0, bytes);
    ASSERT_EQ(whole, PortableCrc32c(0, bytes)) << bytes.size() << " bytes";
    ASSERT_EQ(whole, Crc32c(Crc32c(0, bytes.substr(0, cut)), bytes.substr(cut)));
    ASSERT_EQ(whole, PortableCrc32c(PortableCrc32c(0, bytes.substr(0, cut)), bytes.substr(cut)));
  }
}

}  // namespace
}  // namespace attune::ps::crc32c_test
