#include "sidecar/files/file_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/file_pages.h"
#include "base/sha256.h"
#include "tests/scratch.h"

namespace attune::sidecar::file_reader_test {
namespace {

using ::testing::HasSubstr;

constexpr char kToken[] = "5f1d";

class FileReaderTest : public ::testing::Test {
 protected:
  FileReaderTest() { scratch_.Write("model/a", "content"); }
  HttpPage Ask(const std::string& path, const std::string& query = "") {
    return AnswerWithToken({.path = path, .query = query}, Sha256Hex(kToken), [this](std::string_view request) {
      ++answered_;
      return pages_.Answer(request);
    });
  }
  const SystemTime time_;
  const Scratch scratch_;
  FilePages pages_{scratch_.path() / "model", time_};
  int answered_ = 0;
};

TEST_F(FileReaderTest, ShowsFilesToWhoKnowsTheToken) {
  EXPECT_THAT(Ask("/5f1d/list/0").body, HasSubstr(" a\n"));
  const HttpPage page = Ask("/5f1d/read/1/0/0");
  EXPECT_EQ(page.code, 200);
  EXPECT_EQ(page.body, "content");
  EXPECT_EQ(page.content_type, "application/octet-stream");
}

TEST_F(FileReaderTest, WithoutTheTokenAllPagesAreTheSame) {
  const HttpPage unknown = Ask("/5f1d/nothing");
  EXPECT_EQ(unknown.code, 404);
  const int before = answered_;
  for (const char* path : {"", "/", "//", "/list/0", "/5f1d", "/5f1e/list/0", "/5f1/list/0", "/5f1d0/list/0",
                           "5f1d/list/0", "/ready", "//5f1d/list/0", "/../5f1d/list/0"}) {
    SCOPED_TRACE(path);
    const HttpPage page = Ask(path);
    EXPECT_EQ(page.code, unknown.code);
    EXPECT_EQ(page.body, unknown.body);
    EXPECT_EQ(page.headers, unknown.headers);
  }
  EXPECT_EQ(Ask("/" + Sha256Hex(kToken) + "/list/0").code, 404) << "what stands in the pod's arguments is no token";
  EXPECT_EQ(answered_, before);
}

TEST_F(FileReaderTest, ErrorsHaveCodesThatAClientCanTellApart) {
  EXPECT_EQ(Ask("/5f1d/read/1/0/0").code, 409) << "nothing was listed yet";
  ASSERT_EQ(Ask("/5f1d/list/0").code, 200);
  EXPECT_EQ(Ask("/5f1d/read/1/7/0").code, 410);
  EXPECT_EQ(Ask("/5f1d/../a").code, 404);
  EXPECT_EQ(Ask("/5f1d/list/0", "follow=1").code, 404);
  scratch_.Write("model/a", "other content");
  const HttpPage changed = Ask("/5f1d/read/1/0/0");
  EXPECT_EQ(changed.code, 409);
  EXPECT_THAT(changed.body, HasSubstr("'a' was written to"));
}

TEST_F(FileReaderTest, EndsWhenNobodyAsksAnyMore) {
  ManualTime time;
  const ReaderOptions options{
      .directory = scratch_.path(), .port = 0, .token_sha256 = Sha256Hex(kToken), .idle = std::chrono::seconds(60)};
  int waits = 0;
  EXPECT_EQ(RunFileReader(options, time,
                          [&](Duration wait) {
                            time.Advance(wait);
                            ++waits;
                            return false;
                          }),
            0);
  EXPECT_EQ(waits, 60);
  EXPECT_EQ(RunFileReader(options, time, [](Duration) { return true; }), 0) << "asked to end";
}

TEST_F(FileReaderTest, APortThatIsTakenIsAnError) {
  const ReaderOptions options{
      .directory = scratch_.path(), .port = 0, .token_sha256 = Sha256Hex(kToken), .idle = std::chrono::seconds(60)};
  const auto first = FileReader::Start(options, time_);
  ASSERT_TRUE(first.ok()) << first.status();
  ReaderOptions same = options;
  same.port = (*first)->port();
  EXPECT_FALSE(FileReader::Start(same, time_).ok());
}

}  // namespace
}  // namespace attune::sidecar::file_reader_test
