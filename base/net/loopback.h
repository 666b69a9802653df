// Which addresses only processes of this machine can reach.
#pragma once

#include <string>

namespace attune {

// 127.0.0.0/8, ::1, and the former written in IPv6 (::ffff:127.0.0.1). Text that is no IP address, a host's name
// included, is not loopback: what it stands for is decided elsewhere.
bool IsLoopback(const std::string& ip);

}  // namespace attune
