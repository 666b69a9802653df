#include "ps/core/protocol/node_inputs.h"

namespace attune::ps {

std::string CoordinatorAddress(const std::string& address, uint16_t port) {
  const size_t colon = address.rfind(':');
  return colon == std::string::npos ? "" : address.substr(0, colon + 1) + std::to_string(port);
}

}  // namespace attune::ps
