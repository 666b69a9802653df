// Loopback addresses for pods: each (namespace, pod name) has one of its own, from its first mention on, so that
// servers and workers use the same ports on one machine as on a cluster. Instances on one machine take different
// networks. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/mutex.h"
#include "base/os/file_descriptor.h"
#include "base/status.h"
#include "operator/kube/object.h"

namespace attune::local {

class AddressBook {
 public:
  // Takes a free network 127.a.b.0/20 with a in 64..127, held by a socket bound to its first address until destruction.
  static StatusOr<std::unique_ptr<AddressBook>> Open();
  AddressBook(const AddressBook&) = delete;
  AddressBook& operator=(const AddressBook&) = delete;

  // The address of a pod, given to it now if it has none. ResourceExhausted when all are in use.
  StatusOr<std::string> AddressOf(const kube::ObjectKey& pod);
  // While a pod exists its address is kept; those of pods that are gone are given away again when no other is free.
  void SetInUse(const kube::ObjectKey& pod, bool in_use);

 private:
  AddressBook(uint32_t network, FileDescriptor guard) : network_(network), guard_(std::move(guard)) {}

  const uint32_t network_;  // host byte order
  const FileDescriptor guard_;
  Mutex mutex_;
  struct Entry {
    uint32_t host;
    bool in_use;
    uint64_t mentioned;  // order of last mention
  };
  std::map<kube::ObjectKey, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  uint32_t next_host_ ABSL_GUARDED_BY(mutex_) = 2;
  uint64_t mentions_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace attune::local
