#include "operator/local/api/service_tokens.h"

#include <gtest/gtest.h>

#include "tests/operator/local/objects.h"

namespace attune::local::service_tokens_test {
namespace {

using kube::Json;

constexpr WallTime kNow{std::chrono::hours(1)};
constexpr Duration kMinute = std::chrono::minutes(1);

class ServiceTokensTest : public ::testing::Test {
 protected:
  ServiceTokensTest() { pod["metadata"]["uid"] = "uid-a"; }
  StatusOr<std::string> Issue(WallTime expires) { return tokens.Issue(pod, {"operator"}, expires, kNow, exists); }
  Json Review(const std::string& token, const std::string& audience, WallTime now) const {
    const Json review{{"spec", {{"token", token}, {"audiences", {audience}}}}};
    return tokens.Review(review, now, exists)["status"];
  }

  Json pod = testing::MakePod("a");
  bool is_there = true;
  ServiceTokens::Exists exists = [this](std::string_view uid) { return is_there && uid == "uid-a"; };
  ServiceTokens tokens;
};

TEST_F(ServiceTokensTest, AReviewNamesThePodUntilItsTokenExpires) {
  const std::string token = Issue(kNow + kMinute).value();
  const Json status = Review(token, "operator", kNow);
  EXPECT_EQ(status["authenticated"], true);
  EXPECT_EQ(status["user"]["username"], "system:serviceaccount:default:default");
  EXPECT_EQ(status["user"]["extra"]["authentication.kubernetes.io/pod-name"], Json::array({"a"}));
  EXPECT_EQ(Review(token, "operator", kNow + kMinute)["authenticated"], false);
}

TEST_F(ServiceTokensTest, OtherAudiencesOtherTokensAndPodsThatAreGoneAreRefused) {
  const std::string token = Issue(kNow + kMinute).value();
  EXPECT_EQ(Review(token, "other", kNow)["authenticated"], false);
  EXPECT_EQ(Review(token + "x", "operator", kNow)["authenticated"], false);
  is_there = false;
  EXPECT_EQ(Review(token, "operator", kNow)["authenticated"], false);
}

TEST_F(ServiceTokensTest, TokensOfAPodThatIsGoneAreForgottenWhenTheNextIsIssued) {
  const std::string first = Issue(kNow + kMinute).value();
  is_there = false;
  const std::string second = Issue(kNow + kMinute).value();
  is_there = true;
  EXPECT_EQ(Review(first, "operator", kNow)["authenticated"], false);
  EXPECT_EQ(Review(second, "operator", kNow)["authenticated"], true);
}

}  // namespace
}  // namespace attune::local::service_tokens_test
