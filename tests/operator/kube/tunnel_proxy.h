// An HTTP proxy on loopback that does CONNECT, to 127.0.0.1 whatever host it is asked for.
#pragma once

#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace attune::kube {

class TunnelProxy {
 public:
  // Every tunnel ends at `port` of this machine.
  explicit TunnelProxy(int port);
  ~TunnelProxy();
  int port() const { return port_; }
  // What clients sent before their tunnels, headers included.
  std::vector<std::string> Requests() const;

 private:
  void Accept();
  void Serve(int client);

  const int target_port_;
  int listener_ = -1, port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;  // guarded by mutex_
  std::vector<int> sockets_;           // guarded by mutex_
  bool stopping_ = false;              // guarded by mutex_
  std::list<std::thread> threads_;     // by the accepting thread, then the destructor
  std::thread acceptor_;
};

}  // namespace attune::kube
