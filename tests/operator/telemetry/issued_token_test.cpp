// Service-account tokens by their signature: what an API server has signed for a pod and for us is believed, and
// nothing else is.
#include "operator/telemetry/issued_token.h"

#include <cjose/cjose.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "operator/telemetry/issuer_keys.h"
#include "tests/operator/kube/fake_api.h"

namespace attune::telemetry::issued_token_test {
namespace {

using kube::Json;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr char kAudience[] = "attune", kIssuer[] = "https://kubernetes.default.svc";
constexpr int64_t kNow = 1'800'000'000;
const WallTime kWallNow = WallTime{} + seconds(kNow);

// A pair of keys of an API server.
class Signer {
 public:
  enum class Kind { kRsa, kEc, kShared };
  Signer(Kind kind, const std::string& id) {
    cjose_err error = {};
    constexpr uint8_t kExponent[] = {1, 0, 1};
    key_ = kind == Kind::kRsa  ? cjose_jwk_create_RSA_random(2048, kExponent, sizeof kExponent, &error)
           : kind == Kind::kEc ? cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &error)
                               : cjose_jwk_create_oct_random(256, &error);
    if (key_ == nullptr || !cjose_jwk_set_kid(key_, id.data(), id.size(), &error)) std::abort();
  }
  Signer(const Signer&) = delete;
  Signer& operator=(const Signer&) = delete;
  ~Signer() { cjose_jwk_release(key_); }

  Json Published() const { return ToJson(/*with_private=*/false); }
  std::string Sign(const std::string& algorithm, const std::string& id, const std::string& text) const {
    cjose_err error = {};
    cjose_header_t* header = cjose_header_new(&error);
    cjose_header_set(header, CJOSE_HDR_ALG, algorithm.c_str(), &error);
    if (!id.empty()) cjose_header_set(header, CJOSE_HDR_KID, id.c_str(), &error);
    cjose_jws_t* jws = cjose_jws_sign(key_, header, reinterpret_cast<const uint8_t*>(text.data()), text.size(), &error);
    cjose_header_release(header);
    if (jws == nullptr) return "";
    const char* compact = nullptr;
    std::string token = cjose_jws_export(jws, &compact, &error) ? compact : "";
    cjose_jws_release(jws);
    return token;
  }

 private:
  Json ToJson(bool with_private) const {
    cjose_err error = {};
    char* text = cjose_jwk_to_json(key_, with_private, &error);
    Json json = Json::parse(text);
    cjose_get_dealloc()(text);
    return json;
  }

  cjose_jwk_t* key_ = nullptr;
};

Json Claims() {
  return {{"iss", kIssuer},
          {"aud", {kAudience}},
          {"iat", kNow - 10},
          {"nbf", kNow - 10},
          {"exp", kNow + 3600},
          {"sub", "system:serviceaccount:team:default"},
          {"kubernetes.io",
           {{"namespace", "team"},
            {"pod", {{"name", "a-worker-0"}, {"uid", "u1"}}},
            {"serviceaccount", {{"name", "default"}, {"uid", "s1"}}}}}};
}

TokenIssuer IssuerOf(const std::vector<const Signer*>& signers) {
  Json keys = Json::array();
  for (const Signer* signer : signers) keys.push_back(signer->Published());
  return *ReadIssuer({{"issuer", kIssuer}}, {{"keys", keys}});
}

StatusOr<PodIdentity> Verify(const std::string& token, const TokenIssuer& issuer) {
  return VerifyIssuedToken(token, issuer, kAudience, kWallNow);
}

TEST(IssuedToken, APodIsKnownByWhatTheApiServerHasSigned) {
  const Signer rsa(Signer::Kind::kRsa, "one"), ec(Signer::Kind::kEc, "two");
  const TokenIssuer issuer = IssuerOf({&rsa, &ec});
  for (const std::string& token :
       {rsa.Sign("RS256", "one", Claims().dump()), ec.Sign("ES256", "two", Claims().dump())}) {
    const auto identity = Verify(token, issuer);
    ASSERT_TRUE(identity.ok()) << identity.status();
    EXPECT_EQ(identity->name_space, "team");
    EXPECT_EQ(identity->pod, "a-worker-0");
    EXPECT_EQ(identity->pod_uid, "u1");
  }
  EXPECT_EQ(KeyIdOf(rsa.Sign("RS256", "one", "{}")), "one");
  EXPECT_EQ(KeyIdOf("a.b.c"), "");
}

TEST(IssuedToken, OtherClaimsAreRefused) {
  const Signer signer(Signer::Kind::kEc, "k");
  const TokenIssuer issuer = IssuerOf({&signer});
  struct Case {
    const char* name;
    std::function<void(Json&)> change;
    const char* words;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"for the API server itself", [](Json& claims) { claims["aud"] = {"https://kubernetes.default.svc"}; },
            "not for attune"},
           {"for no audience", [](Json& claims) { claims.erase("aud"); }, "not for attune"},
           {"of another cluster", [](Json& claims) { claims["iss"] = "https://elsewhere"; }, "it is not of https"},
           {"expired", [](Json& claims) { claims["exp"] = kNow - 61; }, "expired"},
           {"never expires", [](Json& claims) { claims.erase("exp"); }, "expired"},
           {"expires at no time", [](Json& claims) { claims["exp"] = "tomorrow"; }, "expired"},
           {"expires beyond all times", [](Json& claims) { claims["exp"] = int64_t{1} << 62; }, "expired"},
           {"expired before 1970", [](Json& claims) { claims["exp"] = -5; }, "expired"},
           {"of tomorrow", [](Json& claims) { claims["nbf"] = kNow + 86400; }, "not valid yet"},
           {"begins at no time", [](Json& claims) { claims["nbf"] = Json::array(); }, "not valid yet"},
           {"of no pod", [](Json& claims) { claims["kubernetes.io"].erase("pod"); }, "bound to no pod"},
           {"of a pod without a uid", [](Json& claims) { claims["kubernetes.io"]["pod"].erase("uid"); },
            "bound to no pod"},
           {"of a pod that is a number", [](Json& claims) { claims["kubernetes.io"]["pod"] = 7; }, "bound to no pod"},
           {"no object", [](Json& claims) { claims = Json::array({1}); }, "no claims"}}) {
    Json claims = Claims();
    each.change(claims);
    const auto identity = Verify(signer.Sign("ES256", "k", claims.dump()), issuer);
    ASSERT_FALSE(identity.ok()) << each.name;
    EXPECT_THAT(identity.status().message(), HasSubstr(each.words)) << each.name;
  }
  EXPECT_FALSE(Verify(signer.Sign("ES256", "k", "no JSON"), issuer).ok());
  Json late = Claims();
  late["exp"] = kNow - 30, late["nbf"] = kNow + 30, late["aud"] = kAudience;
  EXPECT_TRUE(Verify(signer.Sign("ES256", "k", late.dump()), issuer).ok()) << "clocks differ a little";
}

TEST(IssuedToken, OtherSignaturesAreRefused) {
  const Signer ours(Signer::Kind::kRsa, "k"), theirs(Signer::Kind::kRsa, "k"), shared(Signer::Kind::kShared, "k");
  const TokenIssuer issuer = IssuerOf({&ours});
  const std::string good = ours.Sign("RS256", "k", Claims().dump());
  ASSERT_TRUE(Verify(good, issuer).ok());
  EXPECT_THAT(Verify(theirs.Sign("RS256", "k", Claims().dump()), issuer).status().message(), HasSubstr("signature"));
  EXPECT_THAT(Verify(ours.Sign("RS256", "other", Claims().dump()), issuer).status().message(), HasSubstr("its key"));
  EXPECT_THAT(Verify(ours.Sign("RS256", "", Claims().dump()), issuer).status().message(), HasSubstr("its key"));
  EXPECT_THAT(Verify(shared.Sign("HS256", "k", Claims().dump()), issuer).status().message(),
              HasSubstr("proves nothing"));
  // {"alg":"none","kid":"k"} with the claims of the good one, and no signature.
  const std::string body = good.substr(good.find('.'), good.rfind('.') - good.find('.') + 1);
  EXPECT_FALSE(Verify("eyJhbGciOiJub25lIiwia2lkIjoiayJ9" + body, issuer).ok());
  for (size_t at = 0; at < good.size(); at += 7) {
    std::string bent = good;
    bent[at] = bent[at] == 'A' ? 'B' : 'A';
    if (bent == good) continue;
    // The last character of a part may have bits that say nothing.
    const bool is_last = at + 1 == good.size() || good[at + 1] == '.';
    if (!is_last) {
      EXPECT_FALSE(Verify(bent, issuer).ok()) << "character " << at;
    }
  }
  for (size_t size = 0; size < good.size(); size += 11) EXPECT_FALSE(Verify(good.substr(0, size), issuer).ok()) << size;
}

TEST(IssuedToken, DocumentsAreReadWithCare) {
  const Signer signer(Signer::Kind::kEc, "k");
  Json encrypts = signer.Published(), nameless = signer.Published();
  encrypts["use"] = "enc";
  nameless.erase("kid");
  for (const Json& keys : {Json(), Json::array(), Json::array({1, nullptr, encrypts, nameless}), Json("x")}) {
    EXPECT_EQ(ReadIssuer({{"issuer", kIssuer}}, {{"keys", keys}}).status().code(), StatusCode::kUnavailable);
  }
  EXPECT_EQ(ReadIssuer(Json::array(), {{"keys", {signer.Published()}}}).status().code(), StatusCode::kUnavailable);
  TokenIssuer issuer = IssuerOf({&signer});
  issuer.keys["k"] = R"({"kty": "RSA", "kid": "k", "n": "!", "e": "?"})";
  EXPECT_THAT(Verify(signer.Sign("ES256", "k", Claims().dump()), issuer).status().message(), HasSubstr("not known"));
}

class Clock final : public TimeSource {
 public:
  MonotonicTime Now() const override { return now; }
  WallTime WallNow() const override { return kWallNow; }
  MonotonicTime now = MonotonicTime{} + std::chrono::hours(1);
};

// Publishes what it is given, and counts how often that is read.
class Publisher final : public kube::FakeApi {
 public:
  StatusOr<Json> GetDocument(const std::string& path, const kube::CallOptions&) override {
    if (!answers) return Error(StatusCode::kPermissionDenied, "forbidden");
    if (path == "/.well-known/openid-configuration") return Json{{"issuer", kIssuer}};
    ++reads;
    return Json{{"keys", keys}};
  }
  Json keys = Json::array();
  int reads = 0;
  bool answers = true;
};

TEST(IssuerKeys, AreReadWhenNeededAndAgainForOneThatIsNotKnown) {
  const Signer old(Signer::Kind::kEc, "old"), rotated(Signer::Kind::kEc, "new");
  Publisher api;
  Clock clock;
  IssuerKeys keys(api, clock);
  api.keys = {old.Published()};
  ASSERT_TRUE(keys.For("old").ok());
  ASSERT_TRUE(keys.For("old").ok());
  EXPECT_EQ(api.reads, 1);
  api.keys = {old.Published(), rotated.Published()};
  EXPECT_FALSE((*keys.For("new"))->keys.contains("new")) << "read a moment ago";
  clock.now += IssuerKeys::kPause;
  EXPECT_TRUE((*keys.For("new"))->keys.contains("new"));
  EXPECT_EQ(api.reads, 2);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(keys.For("stranger " + std::to_string(i)).ok());
  EXPECT_EQ(api.reads, 2) << "anybody can name a key";
  clock.now += IssuerKeys::kKept;
  ASSERT_TRUE(keys.For("new").ok());
  EXPECT_EQ(api.reads, 3) << "a key may have been withdrawn";
}

TEST(IssuerKeys, WithoutThemNobodyIsBelievedAndItIsSaidWhy) {
  Publisher api;
  Clock clock;
  IssuerKeys keys(api, clock);
  api.answers = false;
  EXPECT_EQ(keys.For("k").status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(keys.For("k").status().message(), HasSubstr("a moment ago"));
  clock.now += IssuerKeys::kPause;
  EXPECT_THAT(keys.For("k").status().message(), HasSubstr("forbidden"));
}

}  // namespace
}  // namespace attune::telemetry::issued_token_test
