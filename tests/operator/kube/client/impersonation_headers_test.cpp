#include "operator/kube/client/impersonation_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::kube::impersonation_headers_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ImpersonationHeaders, OneForEachValue) {
  EXPECT_TRUE(ImpersonationHeaders({}).empty());
  EXPECT_TRUE(ImpersonationHeaders({.groups = {"admins"}}).empty()) << "never without a user";
  EXPECT_THAT(
      ImpersonationHeaders({.user = "jane", .uid = "7", .groups = {"a, b", "c"}, .extra = {{"scopes", {"x", "y"}}}}),
      ElementsAre(Pair("Impersonate-User", "jane"), Pair("Impersonate-Uid", "7"), Pair("Impersonate-Group", "a, b"),
                  Pair("Impersonate-Group", "c"), Pair("Impersonate-Extra-scopes", "x"),
                  Pair("Impersonate-Extra-scopes", "y")));
}

TEST(ImpersonationHeaders, KeysCannotBecomeAnythingElse) {
  struct {
    const char* key;
    const char* want;
  } cases[] = {{"example.com/scopes", "Impersonate-Extra-example.com%2Fscopes"},
               {"a: b\r\nX-Evil", "Impersonate-Extra-a%3A%20b%0D%0AX-Evil"},
               {"100%", "Impersonate-Extra-100%25"},
               {"\xc3\xa4", "Impersonate-Extra-%C3%A4"},
               {"", "Impersonate-Extra-"}};
  for (const auto& c : cases) {
    EXPECT_EQ(ImpersonationHeaders({.user = "jane", .extra = {{c.key, {"v"}}}}).back().first, c.want);
  }
}

}  // namespace
}  // namespace attune::kube::impersonation_headers_test
