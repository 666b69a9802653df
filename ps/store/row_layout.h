// A row as bytes of a slab: values in the table's value type, then optimizer state as float32; and as the RowView that
// travels. Pure.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "ps/store/formulas/optimizer.h"
#include "ps/store/formulas/value_type.h"
#include "ps/store/row_slabs.h"
#include "ps/store/table_store.h"
#include "ps/types/key.h"
#include "ps/types/table_options.h"

namespace attune::ps {

class RowLayout {
 public:
  explicit RowLayout(const TableOptions& options);

  size_t dim() const { return dim_; }
  size_t row_bytes() const { return state_offset_ + states_ * sizeof(float); }
  bool has_row_state() const { return has_row_state_; }
  size_t state_floats() const { return states_ + (has_row_state_ ? 1 : 0); }  // of a row that travels

  void LoadValues(const std::byte* row, float* values) const {
    if (is_float32_) {
      std::memcpy(values, row, dim_ * sizeof(float));
    } else {
      codec_.load(row, values, dim_);
    }
  }
  void StoreValues(const float* values, std::byte* row) const { codec_.store(values, row, dim_); }
  float* State(std::byte* row) const { return reinterpret_cast<float*>(row + state_offset_); }

  // Runs change(RowParts) on the row; `scratch` holds its values as float32 meanwhile, if they are stored otherwise.
  template <typename Change>
  void Update(std::byte* row, float* row_state, std::vector<float>& scratch, Change&& change) const {
    if (is_float32_) return change(RowParts{reinterpret_cast<float*>(row), State(row), row_state});
    scratch.resize(dim_);
    codec_.load(row, scratch.data(), dim_);
    change(RowParts{scratch.data(), State(row), row_state});
    codec_.store(scratch.data(), row, dim_);
  }

  // Points into the row, or into `scratch` where the row is stored otherwise than it travels.
  RowView View(Key key, const SideRecord& side, const std::byte* row, const float* row_state,
               std::vector<float>& scratch) const;
  // Values and state; sizes fit. The view may be of this very row.
  void Write(const RowView& view, std::byte* row, float* row_state) const;

 private:
  size_t dim_;
  size_t states_;  // floats in the row
  bool has_row_state_;
  bool is_float32_;
  ValueCodec codec_;
  size_t state_offset_;
};

}  // namespace attune::ps
