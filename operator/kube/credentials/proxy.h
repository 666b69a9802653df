// Which proxy leads to an API server: that of its kubeconfig, or what HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace attune::kube {

// OK for "" and for http://[user:password@]host[:port]. Other schemes are Unimplemented: the connection to the proxy
// would be TLS or SOCKS. Passwords are not in the message.
Status CheckProxy(const std::string& url);

// The proxy for `server` (https://host:port) by environment variables, upper or lower case; "" = none. Never one for
// this machine itself. `variable` gives "" for what is not set.
StatusOr<std::string> ProxyOfEnvironment(const std::string& server,
                                         const std::function<std::string(const char*)>& variable);

// Whether `no_proxy` exempts the host: "*", or a comma-separated list of host names (of their subdomains as well;
// ".example.com" and "*.example.com": of those only), addresses and address ranges, each with an optional port.
bool IsExempt(std::string_view no_proxy, const std::string& host, const std::string& port);

}  // namespace attune::kube
