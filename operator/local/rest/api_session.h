// One connection to the local API: requests one after the other, until one of them asks for a stream, a watch or a log
// that is followed, which is then all that the connection is for. Everything runs on the connection's strand; watches
// and log followers post to it from their threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "base/net/connection_limit.h"
#include "base/os/file_descriptor.h"
#include "operator/local/rest/api_server.h"
#include "operator/local/rest/follower_threads.h"
#include "operator/local/rest/rest_calls.h"

namespace boost::asio {
class io_context;
}

namespace attune::local {

// What the connections of one server share.
struct SharedByConnections {
  SharedByConnections(const ApiServerOptions& server_options, kube::Api& served);

  const ApiServerOptions options;
  kube::Api& api;
  const RestCalls calls;
  std::atomic<size_t> proven = 0;  // connections that have shown the token
  Mutex mutex;
  ConnectionLimit unproven ABSL_GUARDED_BY(mutex);  // those that have not yet
  FollowerThreads followers;
  std::atomic<bool> stopping = false;
};

// Thread-safe. Lives as long as something of it is in progress.
class ApiSession {
 public:
  // Of a socket that is connected, over IPv4 or IPv6. Null when the system has no room for it.
  static std::shared_ptr<ApiSession> Open(uint64_t id, FileDescriptor socket, bool ipv6,
                                          boost::asio::io_context& context,
                                          std::shared_ptr<SharedByConnections> shared);
  virtual ~ApiSession() = default;

  virtual void Run() = 0;
  virtual void Close() = 0;
};

}  // namespace attune::local
