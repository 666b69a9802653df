// Any bytes at the local API's port, most of them requests with the right token, damaged: an answer or the end of the
// connection. Without the token nothing changes.
#include "base/time_source.h"
#include "operator/local/api/memory_api.h"
#include "operator/local/rest/api_server.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/fuzz/http_client.h"

namespace {

using attune::local::ApiServer;
using attune::local::MemoryApi;

struct World {
  attune::SystemTime time;
  MemoryApi api{time, {}};
  std::unique_ptr<ApiServer> server =
      ApiServer::Start({.token = "right", .kinds = api.kinds(), .proof_timeout = std::chrono::milliseconds(2'000)}, api)
          .value();
  uint16_t port = static_cast<uint16_t>(std::stoi(server->url().substr(server->url().rfind(':') + 1)));
};

World& TheWorld() {
  static World world;
  return world;
}

std::string WithBody(const std::string& head, const std::string& type, const std::string& body) {
  return head + " HTTP/1.1\r\nAuthorization: Bearer right\r\nConnection: close\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

namespace attune::fuzz {

std::vector<uint8_t> Example(uint64_t seed) {
  const std::string pod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"x":"y"}},)"
                          R"("spec":{"containers":[{"name":"c","image":"i"}]}})";
  const std::string pods = "/api/v1/namespaces/default/pods";
  const std::vector<std::string> requests = {
      WithBody("POST " + pods, "application/json", pod),
      WithBody("PUT " + pods + "/a", "application/json", pod),
      WithBody("PATCH " + pods + "/a", "application/merge-patch+json", R"({"metadata":{"labels":{"x":null,"z":"1"}}})"),
      WithBody("PATCH " + pods + "/a", "application/json-patch+json",
               R"([{"op":"add","path":"/metadata/labels/q","value":"1"},{"op":"remove","path":"/spec/containers/0"}])"),
      WithBody("PATCH " + pods + "/a", "application/strategic-merge-patch+json",
               R"({"spec":{"containers":[{"name":"c","$patch":"delete"}]}})"),
      WithBody("PATCH " + pods + "/a?fieldManager=m&force=true", "application/apply-patch+yaml", pod),
      WithBody("DELETE " + pods + "/a?gracePeriodSeconds=0", "application/json", R"({"preconditions":{"uid":"u"}})"),
      WithBody("GET " + pods + "?labelSelector=x%20in%20(y,z),!q&fieldSelector=spec.nodeName%3Dn&limit=5", "", ""),
      WithBody("GET " + pods + "?watch=true&resourceVersion=0&timeoutSeconds=1&allowWatchBookmarks=true", "", ""),
      WithBody("GET " + pods + "/a/log?follow=true&tailLines=5&limitBytes=10", "", ""),
      WithBody("GET /token/right/apis", "", ""),
      WithBody("GET /api/v1/events?fieldSelector=involvedObject.name=a", "", ""),
      WithBody("POST /apis/authentication.k8s.io/v1/tokenreviews", "application/json", R"({"spec":{"token":"x"}})"),
      "DELETE " + pods + " HTTP/1.1\r\nAuthorization: Bearer wrong\r\n\r\n",
  };
  const std::string& request = requests[seed % requests.size()];
  return {request.begin(), request.end()};
}

}  // namespace attune::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view request(reinterpret_cast<const char*>(data), size);
  World& world = TheWorld();
  const std::string before = world.api.List(attune::kube::kPods, {}).value().resource_version;
  const std::string answer = attune::fuzz::Exchange(world.port, request);
  if (request.find("right") == std::string_view::npos) {
    ATTUNE_CHECK(world.api.List(attune::kube::kPods, {}).value().resource_version == before) << answer;
  }
  return 0;
}
