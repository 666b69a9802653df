// The port of a gRPC server, with a bound on callers that have not proved themselves. gRPC limits the time of a
// handshake and the streams of a connection, and never how many connections there are, so any source could open as many
// as the process has file descriptors, each with a TLS handshake and tens of kilobytes behind it.
//
// This class accepts in gRPC's place and hands connections over. Until the server says of one that it has proved
// itself, it counts: beyond `strangers_max` the source with the most loses its oldest (base/net/connection_limit.h), so
// a new caller always gets in, and none stays longer than `proof_timeout`. gRPC stays in the .cpp files that include
// this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/time_source.h"

namespace grpc {
class ServerBuilder;
class ServerCredentials;
}  // namespace grpc

namespace attune {

struct GrpcPortOptions {
  std::string host;   // an IP address; 0.0.0.0 and ::, all addresses of both families
  uint16_t port = 0;  // 0: any
  size_t strangers_max = 256;
  Duration proof_timeout = std::chrono::seconds(10);
};

class GrpcPort {
 public:
  // Takes the port, and joins `builder` in place of AddListeningPort. InvalidArgument: the host is no IP address;
  // ResourceExhausted: the port is in use, and named in the text. `time` must outlive the port.
  static StatusOr<std::unique_ptr<GrpcPort>> Bind(const GrpcPortOptions& options, grpc::ServerBuilder& builder,
                                                  const std::shared_ptr<grpc::ServerCredentials>& credentials,
                                                  const TimeSource& time);
  virtual ~GrpcPort() = default;

  // From now on connections are accepted; the server has been started.
  virtual void Open() = 0;
  // Accepts no more. To be called before the server is shut down; connections that were handed over are the server's.
  virtual void Close() = 0;
  // Any thread. The connection of this peer, in the words of grpc::ServerContextBase::peer(), counts no longer.
  virtual void Proved(const std::string& peer) = 0;

  virtual uint16_t port() const = 0;
  // Connections that have not proved themselves yet.
  virtual size_t strangers() const = 0;
};

}  // namespace attune
