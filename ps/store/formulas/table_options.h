// What every carrier of table options needs: the fields of optimizers and initializers by name, and texts for messages.
// A new optimizer is added to the variant in ps/types/optimizer_options.h, here, to optimizer.cpp and to the wire
// (proto/, and its name in ps/core/protocol/table_fields.h).
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "ps/types/table_options.h"

namespace attune::ps {

template <typename Owner, typename Value>
struct OptionField {
  const char* name;
  Value Owner::*member;
};
template <typename Owner, typename Value>
OptionField(const char*, Value Owner::*) -> OptionField<Owner, Value>;

template <typename Option>
struct OptionFields;  // kName and kFields

#define ATTUNE_OPTION_FIELDS(type, ...)                           \
  template <>                                                     \
  struct OptionFields<type> {                                     \
    using T = type;                                               \
    static constexpr const char* kName = #type;                   \
    static constexpr auto kFields = std::make_tuple(__VA_ARGS__); \
  }
ATTUNE_OPTION_FIELDS(Sgd, OptionField{"rate", &T::rate});
ATTUNE_OPTION_FIELDS(Momentum, OptionField{"rate", &T::rate}, OptionField{"momentum", &T::momentum},
                     OptionField{"nesterov", &T::nesterov});
ATTUNE_OPTION_FIELDS(Adagrad, OptionField{"rate", &T::rate},
                     OptionField{"initial_accumulator", &T::initial_accumulator}, OptionField{"epsilon", &T::epsilon});
ATTUNE_OPTION_FIELDS(RmsProp, OptionField{"rate", &T::rate}, OptionField{"decay", &T::decay},
                     OptionField{"epsilon", &T::epsilon});
ATTUNE_OPTION_FIELDS(RowAdam, OptionField{"rate", &T::rate}, OptionField{"beta1", &T::beta1},
                     OptionField{"beta2", &T::beta2}, OptionField{"epsilon", &T::epsilon});
ATTUNE_OPTION_FIELDS(Ftrl, OptionField{"alpha", &T::alpha}, OptionField{"beta", &T::beta}, OptionField{"l1", &T::l1},
                     OptionField{"l2", &T::l2});
ATTUNE_OPTION_FIELDS(ConstantInitializer, OptionField{"value", &T::value});
ATTUNE_OPTION_FIELDS(UniformInitializer, OptionField{"low", &T::low}, OptionField{"high", &T::high});
ATTUNE_OPTION_FIELDS(NormalInitializer, OptionField{"mean", &T::mean},
                     OptionField{"standard_deviation", &T::standard_deviation});
ATTUNE_OPTION_FIELDS(XavierInitializer, OptionField{"fan_in", &T::fan_in}, OptionField{"fan_out", &T::fan_out});
#undef ATTUNE_OPTION_FIELDS

// visit(name, value) for every field, in their order here. `option` may be const.
template <typename Option, typename Visitor>
void ForEachField(Option& option, Visitor&& visit) {
  std::apply([&](const auto&... field) { (visit(field.name, option.*field.member), ...); },
             OptionFields<std::remove_const_t<Option>>::kFields);
}

// Makes `variant` hold its alternative `index` with default fields; false when there is none.
template <typename... Options>
bool Emplace(std::variant<Options...>& variant, size_t index) {
  if (index >= sizeof...(Options)) return false;
  size_t i = 0;
  ((i++ == index ? (variant = Options{}, 0) : 0), ...);
  return true;
}

// "Adagrad(rate 0.05, initial_accumulator 0, epsilon 1e-08)", "UniformInitializer(low -1, high 1)".
std::string Describe(const Optimizer& optimizer);
std::string Describe(const Initializer& initializer);
// "cosine (warmup_steps 100, decay_steps 1000, final_factor 0.1)"; "none".
std::string Describe(const LearningRateSchedule& schedule);
const char* Describe(ValueType type);             // "float16"
const char* Describe(NonFiniteGradients policy);  // "skip row"

}  // namespace attune::ps
