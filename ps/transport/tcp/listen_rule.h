// Who may open a port to other machines: a node that can distinguish its job's processes from strangers, and no other.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace attune::ps {

// Asked before a socket is made, by everything here that listens. `token` and `tls_directory` as in TcpOptions.
// FailedPrecondition: the node has neither, and `bind_address` is not loopback; the text says what to do. Text that is
// no address passes: binding it says so in better words.
Status CheckListenAddress(const std::string& bind_address, std::string_view token, std::string_view tls_directory);

}  // namespace attune::ps
