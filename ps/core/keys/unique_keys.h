// Repeats among the keys of one call: found, left out, or their gradients summed. Memory is reused between calls.
// Externally synchronized.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ps/core/keys/key_index.h"
#include "ps/core/protocol/slice.h"
#include "ps/types/key.h"

namespace attune::ps {

class UniqueKeys {
 public:
  struct Gradients {
    Slice<Key> keys;
    Slice<float> values;  // `dim` per key
  };

  bool AreUnique(std::span<const Key> keys);
  // Each key once, in the order in which they come first.
  std::vector<Key> Of(std::span<const Key> keys);
  // The same with the gradients of equal keys summed. Without repeats the caller's memory is used as it is.
  Gradients Sum(Gradients gradients, uint32_t dim);

 private:
  KeySet seen_;
  std::vector<uint32_t> places_;  // by place in the call: the key's place among the unique ones
};

}  // namespace attune::ps
