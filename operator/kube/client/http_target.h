// The server that a transport talks to, what it shows there as its own, and how TLS is set up for that.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace boost::asio::ssl {
class context;
}

namespace attune::kube {

struct HttpTarget {
  std::string server;  // http://host:port or https://host:port, with an optional path prefix
  std::string ca_pem;  // the only authority trusted; "" = the system's
  std::string client_certificate_pem, client_key_pem;
  std::string tls_server_name;  // asked for and verified in place of the host of `server`; "" = that host
  std::string proxy_url;        // http://[user:password@]host:port; "" = none
  std::string user_agent = "attune";
  std::vector<std::pair<std::string, std::string>> headers;  // of every request; a name may come more than once
};

// InvalidArgument when the address or the credentials cannot be used; Unimplemented for what this transport does not
// do.
Status CheckTarget(const HttpTarget& target);

// Throws what Boost.Asio throws when a PEM text is unusable.
void ConfigureTls(boost::asio::ssl::context& context, const HttpTarget& target);

}  // namespace attune::kube
