#include "ps/store/formulas/table_options.h"

#include <sstream>

namespace attune::ps {
namespace {

template <typename Variant>
std::string DescribeFields(const Variant& variant) {
  std::ostringstream text;
  text << std::boolalpha;
  std::visit(
      [&](const auto& option) {
        text << OptionFields<std::remove_cvref_t<decltype(option)>>::kName;
        const char* separator = "(";
        ForEachField(option, [&](const char* name, const auto& value) {
          text << separator << name << ' ' << value;
          separator = ", ";
        });
        text << ')';
      },
      variant);
  return text.str();
}

}  // namespace

std::string Describe(const Optimizer& optimizer) { return DescribeFields(optimizer); }
std::string Describe(const Initializer& initializer) { return DescribeFields(initializer); }

std::string Describe(const LearningRateSchedule& schedule) {
  if (schedule == LearningRateSchedule()) return "none";
  std::ostringstream text;
  switch (schedule.decay) {
    case LearningRateDecay::kNone:
      text << "constant";
      break;
    case LearningRateDecay::kLinear:
      text << "linear";
      break;
    case LearningRateDecay::kCosine:
      text << "cosine";
      break;
    case LearningRateDecay::kInverseSquareRoot:
      text << "inverse square root";
      break;
  }
  text << " (warmup_steps " << schedule.warmup_steps << ", decay_steps " << schedule.decay_steps << ", final_factor "
       << schedule.final_factor << ')';
  return text.str();
}

const char* Describe(ValueType type) {
  switch (type) {
    case ValueType::kFloat16:
      return "float16";
    case ValueType::kBfloat16:
      return "bfloat16";
    case ValueType::kFloat32:
      break;
  }
  return "float32";
}

const char* Describe(NonFiniteGradients policy) {
  return policy == NonFiniteGradients::kSkipRow ? "skip row" : "refuse push";
}

}  // namespace attune::ps
