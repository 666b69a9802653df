// Initial values of rows: a pure function of (seed, table name, key, position), so that every server, and every server
// after a move, computes the same row without asking anyone. Thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ps/types/key.h"
#include "ps/types/table_options.h"

namespace attune::ps {

class RowInitializer {
 public:
  RowInitializer(const Initializer& initializer, uint64_t seed, std::string_view table_name);
  // Fills `values` (the whole row) for `key`.
  void Fill(Key key, std::span<float> values) const;

 private:
  Initializer initializer_;
  uint64_t stream_;  // seed and table name
};

}  // namespace attune::ps
