#include "operator/kube/base64.h"

#include <gtest/gtest.h>

namespace attune::kube::base64_test {
namespace {

TEST(Base64Decode, KnownTexts) {
  struct {
    const char* encoded;
    const char* want;
  } cases[] = {
      {"", ""}, {"Zg==", "f"}, {"Zm8=", "fo"}, {"Zm9v", "foo"}, {"Zm9v\nYmFy", "foobar"}, {"+/+/", "\xfb\xff\xbf"}};
  for (const auto& c : cases) EXPECT_EQ(*Base64Decode(c.encoded), c.want) << c.encoded;
  for (const char* bad : {"Z", "Zg=", "Z===", "====", "Zg==Zg==", "Z*==", "=Zg="})
    EXPECT_FALSE(Base64Decode(bad).ok()) << bad;
}

TEST(Base64Encode, IsDecodedToTheSameBytes) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    const std::string text = Base64Encode(bytes);
    EXPECT_EQ(text.size() % 4, 0U);
    EXPECT_EQ(*Base64Decode(text), bytes) << i;
    bytes += static_cast<char>(i * 7);
  }
  EXPECT_EQ(Base64Encode("fo"), "Zm8=");
  EXPECT_EQ(Base64Encode("\xfb\xff\xbf"), "+/+/");
}

}  // namespace
}  // namespace attune::kube::base64_test
