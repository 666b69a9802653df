// What is sent of structs that worker programs fill and that know nothing of messages (ps/types/).
#pragma once

#include <cstdint>
#include <tuple>

#include "ps/core/protocol/field_list.h"
#include "ps/core/protocol/limits.h"
#include "ps/store/formulas/table_options.h"
#include "ps/store/table_store.h"
#include "ps/types/data_set_options.h"

namespace attune::ps {

template <>
struct EnumNumbers<LearningRateDecay> {
  static constexpr uint32_t kFirst = 0;
  static constexpr LearningRateDecay kLast = LearningRateDecay::kInverseSquareRoot;
};
template <>
struct EnumNumbers<ValueType> {
  static constexpr uint32_t kFirst = 0;
  static constexpr ValueType kLast = ValueType::kBfloat16;
};
template <>
struct EnumNumbers<NonFiniteGradients> {
  static constexpr uint32_t kFirst = 0;
  static constexpr NonFiniteGradients kLast = NonFiniteGradients::kSkipRow;
};

// Optimizers and initializers, by the names of their options.
template <typename Option>
requires(sizeof(OptionFields<Option>) > 0) struct FieldList<Option> {
  template <typename T, typename Visit>
  static constexpr auto Apply(Visit&& visit) {
    return std::apply([&](const auto&... option) { return visit(Field(option.name, option.member)...); },
                      OptionFields<T>::kFields);
  }
};

ATTUNE_FIELDS(LearningRateSchedule, FIELD(decay), FIELD(warmup_steps), FIELD(decay_steps), FIELD(final_factor));
ATTUNE_FIELDS(TableOptions, FIELD(dim),
              OneOf("optimizer", &T::optimizer, {"sgd", "adagrad", "momentum", "rms_prop", "row_adam", "ftrl"}),
              OneOf("initializer", &T::initializer, {"constant", "uniform", "normal", "xavier"}), FIELD(seed),
              FIELD(rows_max), FIELD(schedule, UnlessDefault()), FIELD(value_type), FIELD(non_finite_gradients));
ATTUNE_FIELDS(TableSpec, FIELD(name, AtMost(kNameBytesMax)), Inlined(&T::options));
ATTUNE_FIELDS(DataSetOptions, FIELD(items, Is::kCount), FIELD(epochs, Is::kCount), FIELD(lease_items, Is::kCount),
              FIELD(when_due));

}  // namespace attune::ps
