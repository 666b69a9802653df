// Where an API server is and who its client is: what kubeconfigs and service accounts come to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "operator/kube/object.h"

namespace attune::kube {

// A program that gives credentials: `users[].user.exec` of a kubeconfig.
struct ExecPlugin {
  std::string api_version;  // client.authentication.k8s.io/v1 or .../v1beta1
  std::string command;      // a path, or a name to look for in PATH; "" = there is none
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=VALUE, besides that of this process
  std::string install_hint;              // shown when the program does not exist
  bool provide_cluster_info = false;     // it is given the cluster as well
  Json cluster_config;                   // extension "exec" of the cluster: what its author wants the program to have
};

// Whom a client acts as (kubectl's --as); "" and empty: as itself.
struct Impersonation {
  std::string user, uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

// How fast a client may call. Watches and followed logs are not counted.
struct CallLimit {
  double per_second = 0;  // on average; 0 = no limit
  int burst = 1;          // at once after a pause
};
// client-go's defaults are 5 and 10, at which operators stall; at 50 and 100, which training operators set, a thousand
// jobs of ten pods take ten minutes to start (some thirty calls each). The server's own priority and fairness protects
// it from more; this bound is for the mistake that repeats calls without end.
inline constexpr CallLimit kClusterCallLimit{.per_second = 400, .burst = 800};

// The most that a file with a certificate or a key may have.
inline constexpr uint64_t kCredentialBytesMax = 1 << 20;

struct ClientConfig {
  std::string server;           // https://host:port
  std::string ca_pem;           // only this authority is trusted; "" with http:// or the system's store
  std::string tls_server_name;  // that the server's certificate must have; "" = the host of `server`
  std::string proxy_url;        // http://[user:password@]host:port; "" = none
  std::string client_certificate_pem, client_key_pem;
  std::string token;       // bearer; or
  std::string token_file;  // read again every minute and after a 401; or
  ExecPlugin exec;         // asked again before its credentials expire and after a 401
  Impersonation impersonation;
  CallLimit limit;
  std::string program = "attune";  // in User-Agent
  std::string name_space = "default";
  std::string context;  // of the kubeconfig, for messages
};

}  // namespace attune::kube
