// Table options in control messages.
#include "ps/core/protocol/limits.h"
#include "ps/runtime/control/coordinator_codec_parts.h"

namespace attune::ps::codec {
namespace {

struct OptimizerWriter {
  v1::TableSpec* to;
  void operator()(const Sgd& sgd) { to->mutable_sgd()->set_rate(sgd.rate); }
  void operator()(const Adagrad& adagrad) {
    to->mutable_adagrad()->set_rate(adagrad.rate);
    to->mutable_adagrad()->set_initial_accumulator(adagrad.initial_accumulator);
    to->mutable_adagrad()->set_epsilon(adagrad.epsilon);
  }
  void operator()(const Momentum& momentum) {
    to->mutable_momentum()->set_rate(momentum.rate);
    to->mutable_momentum()->set_momentum(momentum.momentum);
    to->mutable_momentum()->set_nesterov(momentum.nesterov);
  }
  void operator()(const RmsProp& rms_prop) {
    to->mutable_rms_prop()->set_rate(rms_prop.rate);
    to->mutable_rms_prop()->set_decay(rms_prop.decay);
    to->mutable_rms_prop()->set_epsilon(rms_prop.epsilon);
  }
  void operator()(const RowAdam& adam) {
    to->mutable_row_adam()->set_rate(adam.rate);
    to->mutable_row_adam()->set_beta1(adam.beta1);
    to->mutable_row_adam()->set_beta2(adam.beta2);
    to->mutable_row_adam()->set_epsilon(adam.epsilon);
  }
  void operator()(const Ftrl& ftrl) {
    to->mutable_ftrl()->set_alpha(ftrl.alpha);
    to->mutable_ftrl()->set_beta(ftrl.beta);
    to->mutable_ftrl()->set_l1(ftrl.l1);
    to->mutable_ftrl()->set_l2(ftrl.l2);
  }
};

struct InitializerWriter {
  v1::TableSpec* to;
  void operator()(const ConstantInitializer& constant) { to->mutable_constant()->set_value(constant.value); }
  void operator()(const UniformInitializer& uniform) {
    to->mutable_uniform()->set_low(uniform.low);
    to->mutable_uniform()->set_high(uniform.high);
  }
  void operator()(const NormalInitializer& normal) {
    to->mutable_normal()->set_mean(normal.mean);
    to->mutable_normal()->set_standard_deviation(normal.standard_deviation);
  }
  void operator()(const XavierInitializer& xavier) {
    to->mutable_xavier()->set_fan_in(xavier.fan_in);
    to->mutable_xavier()->set_fan_out(xavier.fan_out);
  }
};

void Put(const LearningRateSchedule& from, v1::TableSpec::Schedule* to) {
  to->set_decay(static_cast<uint32_t>(from.decay));
  to->set_warmup_steps(from.warmup_steps);
  to->set_decay_steps(from.decay_steps);
  to->set_final_factor(from.final_factor);
}

}  // namespace

void Put(const TableSpec& from, v1::TableSpec* to) {
  to->set_name(from.name);
  to->set_dim(from.options.dim);
  to->set_seed(from.options.seed);
  to->set_rows_max(from.options.rows_max);
  std::visit(OptimizerWriter{to}, from.options.optimizer);
  std::visit(InitializerWriter{to}, from.options.initializer);
  if (from.options.schedule != LearningRateSchedule()) Put(from.options.schedule, to->mutable_schedule());
  to->set_value_type(static_cast<uint32_t>(from.options.value_type));
  to->set_non_finite_gradients(static_cast<uint32_t>(from.options.non_finite_gradients));
}

namespace {

// An enumeration that travels as its number.
template <typename Enum>
Status GetEnum(const char* what, uint32_t number, Enum last, Enum* to) {
  if (number > static_cast<uint32_t>(last)) {
    return Error(StatusCode::kInvalidArgument, std::string(what) + ' ' + std::to_string(number) +
                                                   " is not known to this release; use the same release for all pods");
  }
  *to = static_cast<Enum>(number);
  return OkStatus();
}

StatusOr<Optimizer> GetOptimizer(const v1::TableSpec& from) {
  switch (from.optimizer_case()) {
    case v1::TableSpec::kSgd:
      return Sgd{.rate = from.sgd().rate()};
    case v1::TableSpec::kMomentum:
      return Momentum{.rate = from.momentum().rate(),
                      .momentum = from.momentum().momentum(),
                      .nesterov = from.momentum().nesterov()};
    case v1::TableSpec::kAdagrad:
      return Adagrad{.rate = from.adagrad().rate(),
                     .initial_accumulator = from.adagrad().initial_accumulator(),
                     .epsilon = from.adagrad().epsilon()};
    case v1::TableSpec::kRmsProp:
      return RmsProp{
          .rate = from.rms_prop().rate(), .decay = from.rms_prop().decay(), .epsilon = from.rms_prop().epsilon()};
    case v1::TableSpec::kRowAdam:
      return RowAdam{.rate = from.row_adam().rate(),
                     .beta1 = from.row_adam().beta1(),
                     .beta2 = from.row_adam().beta2(),
                     .epsilon = from.row_adam().epsilon()};
    case v1::TableSpec::kFtrl:
      return Ftrl{
          .alpha = from.ftrl().alpha(), .beta = from.ftrl().beta(), .l1 = from.ftrl().l1(), .l2 = from.ftrl().l2()};
    default:
      return Error(StatusCode::kInvalidArgument, "table '" + from.name() + "' has no optimizer this release knows");
  }
}

StatusOr<Initializer> GetInitializer(const v1::TableSpec& from) {
  switch (from.initializer_case()) {
    case v1::TableSpec::kConstant:
      return ConstantInitializer{.value = from.constant().value()};
    case v1::TableSpec::kUniform:
      return UniformInitializer{.low = from.uniform().low(), .high = from.uniform().high()};
    case v1::TableSpec::kNormal:
      return NormalInitializer{.mean = from.normal().mean(), .standard_deviation = from.normal().standard_deviation()};
    case v1::TableSpec::kXavier:
      return XavierInitializer{.fan_in = from.xavier().fan_in(), .fan_out = from.xavier().fan_out()};
    default:
      return Error(StatusCode::kInvalidArgument, "table '" + from.name() + "' has no initializer this release knows");
  }
}

}  // namespace

StatusOr<TableSpec> Get(const v1::TableSpec& from) {
  RETURN_IF_ERROR(CheckText(from.name(), kNameBytesMax, "bytes of table name"));
  TableSpec spec{.name = from.name(), .options = {.dim = from.dim(), .seed = from.seed(), .rows_max = from.rows_max()}};
  TableOptions& options = spec.options;
  ASSIGN_OR_RETURN(options.optimizer, GetOptimizer(from));
  ASSIGN_OR_RETURN(options.initializer, GetInitializer(from));
  RETURN_IF_ERROR(GetEnum("learning-rate decay", from.schedule().decay(), LearningRateDecay::kInverseSquareRoot,
                          &options.schedule.decay));
  options.schedule.warmup_steps = from.schedule().warmup_steps();
  options.schedule.decay_steps = from.schedule().decay_steps();
  options.schedule.final_factor = from.schedule().final_factor();
  RETURN_IF_ERROR(GetEnum("value type", from.value_type(), ValueType::kBfloat16, &options.value_type));
  RETURN_IF_ERROR(GetEnum("policy for gradients", from.non_finite_gradients(), NonFiniteGradients::kSkipRow,
                          &options.non_finite_gradients));
  return spec;
}

}  // namespace attune::ps::codec
