#include "operator/local/nodes/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/os/file.h"
#include "base/os/random_seed.h"

namespace attune::local {
namespace {

constexpr uint32_t kHostBits = 12;
constexpr uint32_t kHostMax = (1U << kHostBits) - 2;
constexpr uint32_t kNetworks = 64U << (16 - kHostBits);  // 127.64.0.0 to 127.127.255.255
constexpr uint16_t kGuardPort = 7399;                    // below the ports that pods use
constexpr int kAttemptsMax = 64;

std::string AddressText(uint32_t address) {
  return std::to_string(address >> 24) + "." + std::to_string((address >> 16) & 255) + "." +
         std::to_string((address >> 8) & 255) + "." + std::to_string(address & 255);
}

}  // namespace

StatusOr<std::unique_ptr<AddressBook>> AddressBook::Open() {
  int error = 0;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const uint32_t network = (127U << 24) + (64U << 16) + ((RandomSeed() % kNetworks) << kHostBits);
    FileDescriptor guard(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(kGuardPort);
    address.sin_addr.s_addr = htonl(network + 1);
    if (guard.valid() && bind(guard.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        listen(guard.get(), 1) == 0) {
      return std::unique_ptr<AddressBook>(new AddressBook(network, std::move(guard)));
    }
    error = errno;
  }
  return Error(StatusCode::kUnavailable, "no free loopback network for pods (last attempt: " + ErrnoText(error) +
                                             "); end other local instances, see `attune get`");
}

StatusOr<std::string> AddressBook::AddressOf(const kube::ObjectKey& pod) {
  const MutexLock lock(mutex_);
  if (const auto found = entries_.find(pod); found != entries_.end()) {
    found->second.mentioned = ++mentions_;
    return AddressText(network_ + found->second.host);
  }
  uint32_t host = next_host_;
  if (host <= kHostMax) {
    ++next_host_;
  } else {
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if (!at->second.in_use && (oldest == entries_.end() || at->second.mentioned < oldest->second.mentioned))
        oldest = at;
    }
    if (oldest == entries_.end()) {
      return Error(StatusCode::kResourceExhausted,
                   "all " + std::to_string(kHostMax - 1) + " pod addresses are in use; delete pods that have ended");
    }
    host = oldest->second.host;
    entries_.erase(oldest);
  }
  entries_[pod] = {host, false, ++mentions_};
  return AddressText(network_ + host);
}

void AddressBook::SetInUse(const kube::ObjectKey& pod, bool in_use) {
  const MutexLock lock(mutex_);
  if (const auto found = entries_.find(pod); found != entries_.end()) found->second.in_use = in_use;
}

}  // namespace attune::local
