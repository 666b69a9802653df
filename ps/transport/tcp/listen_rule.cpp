#include "ps/transport/tcp/listen_rule.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/net/loopback.h"
#include "proto/contract.h"

namespace attune::ps {
namespace {

bool IsAddress(const std::string& text) {
  in6_addr parsed{};
  return ::inet_pton(AF_INET, text.c_str(), &parsed) == 1 || ::inet_pton(AF_INET6, text.c_str(), &parsed) == 1;
}

}  // namespace

Status CheckListenAddress(const std::string& bind_address, std::string_view token, std::string_view tls_directory) {
  if (!token.empty() || !tls_directory.empty() || IsLoopback(bind_address) || !IsAddress(bind_address)) {
    return OkStatus();
  }
  return Error(StatusCode::kFailedPrecondition,
               "not listening at " + bind_address +
                   ": other machines can reach it, and without the job's token anyone there could read and change "
                   "rows; put a token into a file (openssl rand -hex 32) and name the file in " +
                   contract::kEnvJobTokenFile +
                   " of all processes of the job, or listen at a loopback address such as 127.0.0.1");
}

}  // namespace attune::ps
