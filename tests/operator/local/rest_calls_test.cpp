// What a request in the REST dialect does, without sockets. Over HTTP: conformance_test.cpp, api_server_test.cpp.
#include "operator/local/rest/rest_calls.h"

#include <gtest/gtest.h>

#include "operator/local/api/memory_api.h"
#include "operator/local/rest/access_token.h"
#include "tests/operator/local/objects.h"

namespace attune::local::rest_calls_test {
namespace {

using testing::Key;
using testing::MakePod;

constexpr char kPodsPath[] = "/api/v1/namespaces/default/pods";

class RestCallsTest : public ::testing::Test {
 protected:
  RestCallsTest() { EXPECT_TRUE(api.Create(kube::kPods, MakePod("a")).ok()); }

  RestReply Ask(RestMethod method, const std::string& target, const std::string& body = "",
                const std::string& content_type = "application/json") {
    return calls.Handle({.method = method,
                         .target = ParseTarget(target).value(),
                         .body = body,
                         .content_type = content_type,
                         .accept = ""},
                        time.WallNow());
  }
  int Code(const RestReply& reply) { return std::get<RestAnswer>(reply).code; }

  const SystemTime time;
  MemoryApi api{time, {}};
  const std::vector<KindInfo> kinds = api.kinds();
  RestCalls calls{api, kinds};
};

TEST_F(RestCallsTest, EachMethodCallsTheApi) {
  const std::string path(kPodsPath);
  EXPECT_EQ(Code(Ask(RestMethod::kGet, path + "/a")), 200);
  EXPECT_EQ(Code(Ask(RestMethod::kPost, path, MakePod("b").dump())), 201);
  EXPECT_TRUE(api.Get(kube::kPods, Key("b")).ok());
  const std::string patch = R"({"metadata":{"labels":{"color":"red"}}})";
  EXPECT_EQ(Code(Ask(RestMethod::kPatch, path + "/b", patch, "application/merge-patch+json; charset=utf-8")), 200);
  EXPECT_EQ(kube::StringAt(*api.Get(kube::kPods, Key("b")), {"metadata", "labels", "color"}), "red");
  EXPECT_EQ(Code(Ask(RestMethod::kDelete, path + "/b?gracePeriodSeconds=0")), 200);
  EXPECT_EQ(api.Get(kube::kPods, Key("b")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Code(Ask(RestMethod::kGet, path + "/b")), 404);
}

TEST_F(RestCallsTest, WhatNoPathMeansIsRefused) {
  EXPECT_EQ(Code(Ask(RestMethod::kGet, "/api/v1/namespaces/default/nothings")), 404);
  EXPECT_NE(Code(Ask(RestMethod::kOther, kPodsPath)), 200);
  EXPECT_NE(Code(Ask(RestMethod::kPost, std::string(kPodsPath) + "/a", MakePod("a").dump())), 201);
  EXPECT_EQ(Code(Ask(RestMethod::kPatch, std::string(kPodsPath) + "/a", "{}", "text/plain")), 415);
  EXPECT_EQ(Code(Ask(RestMethod::kPost, kPodsPath, R"({"metadata":{"namespace":"other","name":"c"}})")), 400);
}

TEST_F(RestCallsTest, AWatchAndAFollowedLogAreStreamsForTheCaller) {
  const RestReply watch = Ask(RestMethod::kGet, std::string(kPodsPath) + "?watch=true&timeoutSeconds=99999999");
  ASSERT_TRUE(std::holds_alternative<WatchRequest>(watch));
  EXPECT_EQ(std::get<WatchRequest>(watch).kind->type, kube::kPods);
  EXPECT_EQ(std::get<WatchRequest>(watch).options.server_timeout, std::chrono::hours(1)) << "an hour at most";
  EXPECT_FALSE(std::get<WatchRequest>(watch).bookmarks);
  const RestReply log = Ask(RestMethod::kGet, std::string(kPodsPath) + "/a/log?follow=true&tailLines=5");
  ASSERT_TRUE(std::holds_alternative<FollowRequest>(log));
  EXPECT_EQ(std::get<FollowRequest>(log).pod, Key("a"));
  EXPECT_EQ(std::get<FollowRequest>(log).options.tail_lines, 5);
}

TEST(AccessTokenTest, APathGivesItsTokenAwayOnlyWhenItIsTheRightOne) {
  RestTarget target = ParseTarget("/token/right/api/v1").value();
  EXPECT_FALSE(TakeTokenFromPath(target, "wrong"));
  EXPECT_EQ(target.segments.size(), 4U);
  EXPECT_TRUE(TakeTokenFromPath(target, "right"));
  EXPECT_EQ(target.segments, (std::vector<std::string>{"api", "v1"}));
  EXPECT_FALSE(TakeTokenFromPath(target, "right"));
  EXPECT_TRUE(IsBearer("Bearer right", "right"));
  for (const char* header : {"", "right", "Bearer ", "Bearer righ", "Bearer rightt", "bearer right"}) {
    EXPECT_FALSE(IsBearer(header, "right")) << header;
  }
}

}  // namespace
}  // namespace attune::local::rest_calls_test
