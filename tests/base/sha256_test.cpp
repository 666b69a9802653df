#include "base/sha256.h"

#include <gtest/gtest.h>

namespace attune::sha256_test {
namespace {

// FIPS 180-2, and what `printf '' | sha256sum` prints.
constexpr char kOfAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kOfNothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Sha256, IsThatOfTheStandardWholeAndInPieces) {
  EXPECT_EQ(Sha256Hex("abc"), kOfAbc);
  EXPECT_EQ(Sha256Hex(""), kOfNothing);
  Sha256 digest;
  digest.Update("a");
  digest.Update("bc");
  EXPECT_EQ(digest.Hex(), kOfAbc);
  EXPECT_EQ(digest.Hex(), kOfNothing) << "of another one";
}

TEST(Sha256, OnlyItsOwnFormIsOne) {
  EXPECT_TRUE(IsSha256Hex(kOfAbc));
  for (const std::string& text : {std::string(), std::string(kOfAbc) + "0", std::string(64, 'A'), std::string(64, '/')})
    EXPECT_FALSE(IsSha256Hex(text)) << text;
}

TEST(Sha256, EqualTextsAloneAreTheSame) {
  EXPECT_TRUE(SameInConstantTime(kOfAbc, kOfAbc));
  EXPECT_TRUE(SameInConstantTime("", ""));
  EXPECT_FALSE(SameInConstantTime(kOfAbc, kOfNothing));
  EXPECT_FALSE(SameInConstantTime("a", "ab"));
}

}  // namespace
}  // namespace attune::sha256_test
