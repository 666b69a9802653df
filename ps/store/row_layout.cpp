#include "ps/store/row_layout.h"

namespace attune::ps {

RowLayout::RowLayout(const TableOptions& options)
    : dim_(options.dim),
      states_(size_t{options.dim} * StatesPerValue(options.optimizer)),
      has_row_state_(HasRowState(options.optimizer)),
      is_float32_(options.value_type == ValueType::kFloat32),
      codec_(SelectCodec(options.value_type)),
      state_offset_((dim_ * codec_.bytes_per_value + sizeof(float) - 1) / sizeof(float) * sizeof(float)) {}

RowView RowLayout::View(Key key, const SideRecord& side, const std::byte* row, const float* row_state,
                        std::vector<float>& scratch) const {
  RowView view{.key = key, .version = side.version(), .move_number = side.move_number};
  const auto* state = reinterpret_cast<const float*>(row + state_offset_);
  if (is_float32_ && !has_row_state_) {
    view.values = {reinterpret_cast<const float*>(row), dim_};
    view.state = {state, states_};
    return view;
  }
  scratch.resize(dim_ + state_floats());
  LoadValues(row, scratch.data());
  if (states_ > 0) std::memcpy(scratch.data() + dim_, state, states_ * sizeof(float));
  if (has_row_state_) scratch.back() = *row_state;
  view.values = std::span(scratch).first(dim_);
  view.state = std::span(scratch).subspan(dim_);
  return view;
}

void RowLayout::Write(const RowView& view, std::byte* row, float* row_state) const {
  if (is_float32_) {
    std::memmove(row, view.values.data(), view.values.size_bytes());
  } else {
    codec_.store(view.values.data(), row, dim_);
  }
  if (states_ > 0) std::memmove(State(row), view.state.data(), states_ * sizeof(float));
  if (has_row_state_) *row_state = view.state.back();
}

}  // namespace attune::ps
