#include "base/framing.h"

#include <gtest/gtest.h>

namespace attune::framing_test {
namespace {

using std::string_literals::operator""s;

TEST(FramingTest, LengthIsLittleEndianAndInFront) { EXPECT_EQ(EncodeFrame("abc"), "\3\0\0\0abc"s); }

TEST(FramingTest, MessagesComeOutWholeHoweverTheBytesWereCut) {
  const std::string bytes = EncodeFrame("first") + EncodeFrame("") + EncodeFrame(std::string(1000, 'x'));
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    FrameDecoder decoder;
    std::vector<std::string> payloads;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      decoder.Feed(std::string_view(bytes).substr(at, piece));
      for (auto next = decoder.Next(); *next; next = decoder.Next()) payloads.push_back(**next);
    }
    EXPECT_EQ(payloads, (std::vector<std::string>{"first", "", std::string(1000, 'x')})) << "pieces of " << piece;
  }
}

TEST(FramingTest, TooLargeIsKnownFromTheHeaderAlone) {
  FrameDecoder decoder;
  decoder.Feed("\1\0\1\0"s);  // 65537
  EXPECT_EQ(decoder.Next().status().code(), StatusCode::kResourceExhausted);
}

TEST(FramingTest, TheLargestAllowedPasses) {
  FrameDecoder decoder;
  decoder.Feed(EncodeFrame(std::string(kFrameBytesMax, 'x')));
  const auto payload = decoder.Next();
  ASSERT_TRUE(payload.ok());
  EXPECT_EQ((**payload).size(), kFrameBytesMax);
}

}  // namespace
}  // namespace attune::framing_test
