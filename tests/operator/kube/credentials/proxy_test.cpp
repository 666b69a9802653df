#include "operator/kube/credentials/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace attune::kube::proxy_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

StatusOr<std::string> Proxy(const std::string& server, const std::map<std::string, std::string>& variables) {
  return ProxyOfEnvironment(server, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

TEST(CheckProxy, OnlyPlainHttpAndNeverAPasswordInTheMessage) {
  EXPECT_TRUE(CheckProxy("").ok());
  EXPECT_TRUE(CheckProxy("http://p").ok());
  EXPECT_TRUE(CheckProxy("http://user:secret@p.example.com:3128/").ok());
  struct {
    const char* url;
    StatusCode want;
  } cases[] = {{"https://user:secret@p:1", StatusCode::kUnimplemented},
               {"socks5://user:secret@p:1", StatusCode::kUnimplemented},
               {"p:3128", StatusCode::kUnimplemented},
               {"http://user:secret@", StatusCode::kInvalidArgument},
               {"http://user:secret@p\r\nX: y", StatusCode::kInvalidArgument},
               {"http://user:secret@[::1]:3128", StatusCode::kInvalidArgument}};
  for (const auto& c : cases) {
    const Status status = CheckProxy(c.url);
    EXPECT_EQ(status.code(), c.want) << c.url;
    EXPECT_THAT(attune::ToString(status), AllOf(HasSubstr("http://"), Not(HasSubstr("secret")))) << c.url;
  }
}

TEST(ProxyOfEnvironment, WhichVariableCounts) {
  const std::string https = "https://api.example.com:6443", http = "http://api.example.com";
  EXPECT_EQ(*Proxy(https, {}), "");
  EXPECT_EQ(*Proxy(https, {{"HTTPS_PROXY", "http://p:1"}, {"https_proxy", "http://q:1"}}), "http://p:1");
  EXPECT_EQ(*Proxy(https, {{"https_proxy", "q:1"}}), "http://q:1") << "without a scheme it is http";
  EXPECT_EQ(*Proxy(https, {{"HTTP_PROXY", "http://p:1"}}), "");
  EXPECT_EQ(*Proxy(http, {{"HTTP_PROXY", "http://p:1"}, {"HTTPS_PROXY", "http://q:1"}}), "http://p:1");
  EXPECT_EQ(*Proxy(https, {{"HTTPS_PROXY", "http://p:1"}, {"NO_PROXY", "example.com"}}), "");
  EXPECT_EQ(*Proxy(https, {{"HTTPS_PROXY", "http://p:1"}, {"no_proxy", "example.com:6443"}}), "");
  EXPECT_EQ(*Proxy("https://api.example.com", {{"HTTPS_PROXY", "http://p:1"}, {"no_proxy", "example.com:443"}}), "");
  for (const char* self :
       {"https://localhost:6443", "https://127.0.0.1:6443", "https://127.9.9.9", "https://[::1]:1"}) {
    EXPECT_EQ(*Proxy(self, {{"HTTPS_PROXY", "http://p:1"}}), "") << self;
  }
}

TEST(ProxyOfEnvironment, AProxyThatCannotBeUsedIsAnErrorNotADetour) {
  const Status status = Proxy("https://api.example.com", {{"HTTPS_PROXY", "socks5://p:1"}}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(attune::ToString(status), AllOf(HasSubstr("HTTPS_PROXY"), HasSubstr("NO_PROXY=api.example.com")));
}

TEST(IsExempt, HostsSubdomainsAddressesRangesAndPorts) {
  struct {
    const char* no_proxy;
    const char* host;
    const char* port;
    bool want;
  } cases[] = {
      {"", "h", "443", false},
      {"*", "h", "443", true},
      {"example.com", "example.com", "443", true},
      {"example.com", "API.Example.com", "443", true},
      {"EXAMPLE.com", "api.example.com", "443", true},
      {"example.com", "badexample.com", "443", false},
      {".example.com", "example.com", "443", false},
      {".example.com", "a.b.example.com", "443", true},
      {"*.example.com", "a.example.com", "443", true},
      {"*.example.com", "example.com", "443", false},
      {" a , example.com ,b", "example.com", "443", true},
      {"example.com:6443", "example.com", "443", false},
      {"example.com:6443", "example.com", "6443", true},
      {"10.0.0.1", "10.0.0.1", "443", true},
      {"10.0.0.1", "10.0.0.10", "443", false},
      {"10.0.0.1:443", "10.0.0.1", "6443", false},
      {"10.0.0.0/8", "10.255.0.1", "443", true},
      {"10.0.0.0/8", "11.0.0.1", "443", false},
      {"10.0.0.0/8", "api.example.com", "443", false},
      {"10.1.2.128/25", "10.1.2.127", "443", false},
      {"0.0.0.0/0", "8.8.8.8", "443", true},
      {"10.0.0.0/33", "10.0.0.0", "443", false},
      {"10.0.0.0/-5", "10.0.0.0", "443", false},
      {"10.0.0.0/x", "10.0.0.0", "443", false},
      {"fd00::/8", "fd12::1", "443", true},
      {"fd00::/8", "fe00::1", "443", false},
      {"::/0", "fe00::1", "443", true},
      {"[fd00::1]:443", "fd00::1", "443", true},
      {",,", "h", "443", false},
      {":443", "h", "443", false},
      {"*.", "h.", "443", true},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(IsExempt(c.no_proxy, c.host, c.port), c.want) << c.no_proxy << " for " << c.host << ":" << c.port;
  }
}

}  // namespace
}  // namespace attune::kube::proxy_test
