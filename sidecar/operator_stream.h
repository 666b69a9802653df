// The gRPC stream to the operator. What the relay asks for goes in; what happens comes out as the relay's inputs, from
// gRPC's threads, through a callback. gRPC stays in operator_stream.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "attune/v1/telemetry.pb.h"
#include "sidecar/relay/relay.h"

namespace attune::sidecar {

struct OperatorStreamOptions {
  std::string target;      // host:port
  std::string token_file;  // read again for every stream; "": no token is sent
  std::string authority;   // PEM; the operator must show a certificate signed by it. "": not encrypted
};

// Calls come from one thread.
class OperatorStream {
 public:
  // `post` receives OperatorSaid, MessageSent and StreamEnded of the present stream only; it must be quick and
  // thread-safe. `generation` distinguishes streams: an event that was posted before Cancel may still wait in the
  // receiver's queue.
  using Post = std::function<void(uint64_t generation, RelayInput)>;
  static std::unique_ptr<OperatorStream> Create(OperatorStreamOptions options, Post post);
  virtual ~OperatorStream() = default;  // cancels; nothing is posted afterwards

  virtual void Open() = 0;
  virtual void Send(const v1::SidecarMessage& message) = 0;  // one at a time, see MessageSent
  virtual void EndWrites() = 0;
  virtual void Cancel() = 0;
  virtual uint64_t generation() const = 0;  // of the present stream
};

}  // namespace attune::sidecar
