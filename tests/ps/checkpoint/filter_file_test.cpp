#include "ps/checkpoint/format/filter_file.h"

#include <gtest/gtest.h>

#include <string>

namespace attune::ps::filter_file_test {
namespace {

const FilterRecords kRecords{
    .origins = {{4, 17}, {5, 0}},
    .pushes = {{.origin = 4, .sequence = 18, .table = 1, .keys = {1, 2, UINT64_MAX}, .positions = {0, 7, 9}},
               {.origin = 4, .sequence = 19, .table = 2, .refused = true}}};

TEST(FilterFileTest, ReadsBackWhatWasWritten) {
  for (const FilterRecords& records : {kRecords, FilterRecords()}) {
    const auto read = DecodeFilterRecords(9, EncodeFilterRecords(9, records));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, records);
  }
}

TEST(FilterFileTest, AnotherCheckpointsRecordsAreRefused) {
  EXPECT_FALSE(DecodeFilterRecords(8, EncodeFilterRecords(9, kRecords)).ok());
}

TEST(FilterFileTest, AChangedByteAndAnyShorterLengthAreFound) {
  const std::string whole = EncodeFilterRecords(9, kRecords);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_FALSE(DecodeFilterRecords(9, damaged).ok()) << "byte " << i;
    EXPECT_FALSE(DecodeFilterRecords(9, whole.substr(0, i)).ok()) << "length " << i;
  }
}

}  // namespace
}  // namespace attune::ps::filter_file_test
