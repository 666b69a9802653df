// What a stream to a sidecar is made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "operator/telemetry/open_directives.h"
#include "operator/telemetry/outgoing_messages.h"

namespace attune::telemetry::stream_parts_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(OpenDirectivesTest, EachIsAnsweredOnce) {
  OpenDirectives open;
  const uint64_t first = open.Add("drain-3"), second = open.Add("");
  EXPECT_NE(first, second);
  EXPECT_EQ(open.Take(second), std::optional<std::string>(""));
  EXPECT_EQ(open.Take(second), std::nullopt);
  EXPECT_EQ(open.Take(77), std::nullopt) << "never asked";
  EXPECT_EQ(open.size(), 1U);
  EXPECT_THAT(open.TakeAll(), ElementsAre(Pair(first, "drain-3")));
  EXPECT_EQ(open.size(), 0U);
  EXPECT_GT(open.Add("x"), second) << "numbers are not used again";
}

TEST(OutgoingMessagesTest, OneIsWrittenAtATimeInOrder) {
  OutgoingMessages<std::string> outgoing;
  EXPECT_EQ(outgoing.Next(), nullptr);
  outgoing.Add("a");
  outgoing.Add("b");
  const std::string* written = outgoing.Next();
  ASSERT_NE(written, nullptr);
  EXPECT_EQ(outgoing.Next(), nullptr) << "one is being written";
  outgoing.Add("c");
  EXPECT_EQ(*written, "a") << "it stays where it is";
  EXPECT_EQ(outgoing.waiting(), 2U);
  outgoing.Written();
  EXPECT_EQ(*outgoing.Next(), "b");
  outgoing.Written();
  EXPECT_EQ(*outgoing.Next(), "c");
  outgoing.Written();
  EXPECT_EQ(outgoing.Next(), nullptr);
}

}  // namespace
}  // namespace attune::telemetry::stream_parts_test
