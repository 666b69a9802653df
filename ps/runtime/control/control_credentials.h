// ControlSecurity as gRPC understands it.
#pragma once

#include <memory>

#include "base/status.h"
#include "ps/runtime/control/control_security.h"

namespace grpc {
class ChannelArguments;
class ChannelCredentials;
class ClientContext;
class ServerContextBase;
class ServerCredentials;
}  // namespace grpc

namespace attune::ps {

// Reads the certificates as they are now; adds to `arguments` what the channel needs beside them.
StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const ControlSecurity& security,
                                                                      grpc::ChannelArguments& arguments);
// Follows the files: rotated certificates serve new connections within a minute.
StatusOr<std::shared_ptr<grpc::ServerCredentials>> ListenerCredentials(const ControlSecurity& security);

void ShowIdentity(const ControlSecurity& security, grpc::ClientContext& context);
// Unauthenticated: the caller is of another job, by its word or its certificate, or its token is not this job's.
Status CheckCaller(const ControlSecurity& security, const grpc::ServerContextBase& context);

}  // namespace attune::ps
