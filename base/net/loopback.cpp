#include "base/net/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>
#include <cstring>

namespace attune {
namespace {

constexpr uint8_t kLoopbackNet = 127;  // the first byte of 127.0.0.0/8

}  // namespace

bool IsLoopback(const std::string& ip) {
  in_addr v4{};
  if (::inet_pton(AF_INET, ip.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == kLoopbackNet;
  in6_addr v6{};
  if (::inet_pton(AF_INET6, ip.c_str(), &v6) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == kLoopbackNet;
  return std::memcmp(&v6, &in6addr_loopback, sizeof v6) == 0;
}

}  // namespace attune
