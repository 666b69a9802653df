// Validate(TableSpec): all problems of a table's specification in one message.
#include <cmath>
#include <string>
#include <variant>

#include "ps/store/table_store.h"

namespace attune::ps {
namespace {

constexpr size_t kNameBytesMax = 256;
constexpr uint32_t kDimMax = 65536;

class Problems {
 public:
  void Add(const std::string& problem) { text_ += (text_.empty() ? "" : "; ") + problem; }
  void Require(bool holds, const char* field, double found, const char* allowed) {
    if (!holds) Add(std::string(field) + " is " + std::to_string(found) + ", it must be " + allowed);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool IsPositive(float value) { return std::isfinite(value) && value > 0; }
bool IsNotNegative(float value) { return std::isfinite(value) && value >= 0; }

void Check(const Sgd& sgd, Problems& problems) {
  problems.Require(IsPositive(sgd.rate), "optimizer.rate", sgd.rate, "positive and finite");
}

void Check(const Adagrad& adagrad, Problems& problems) {
  problems.Require(IsPositive(adagrad.rate), "optimizer.rate", adagrad.rate, "positive and finite");
  problems.Require(IsNotNegative(adagrad.initial_accumulator), "optimizer.initial_accumulator",
                   adagrad.initial_accumulator, "finite and not negative");
  // With epsilon 0 a first gradient of 0 would give 0 / 0.
  problems.Require(IsPositive(adagrad.epsilon), "optimizer.epsilon", adagrad.epsilon, "positive and finite");
}

bool IsShare(float value) { return value >= 0 && value < 1; }

void Check(const Momentum& momentum, Problems& problems) {
  problems.Require(IsPositive(momentum.rate), "optimizer.rate", momentum.rate, "positive and finite");
  problems.Require(IsShare(momentum.momentum), "optimizer.momentum", momentum.momentum, "at least 0 and below 1");
}

void Check(const RmsProp& rms_prop, Problems& problems) {
  problems.Require(IsPositive(rms_prop.rate), "optimizer.rate", rms_prop.rate, "positive and finite");
  problems.Require(IsShare(rms_prop.decay), "optimizer.decay", rms_prop.decay, "at least 0 and below 1");
  problems.Require(IsPositive(rms_prop.epsilon), "optimizer.epsilon", rms_prop.epsilon, "positive and finite");
}

void Check(const RowAdam& adam, Problems& problems) {
  problems.Require(IsPositive(adam.rate), "optimizer.rate", adam.rate, "positive and finite");
  problems.Require(IsShare(adam.beta1), "optimizer.beta1", adam.beta1, "at least 0 and below 1");
  problems.Require(IsShare(adam.beta2), "optimizer.beta2", adam.beta2, "at least 0 and below 1");
  problems.Require(IsPositive(adam.epsilon), "optimizer.epsilon", adam.epsilon, "positive and finite");
}

void Check(const Ftrl& ftrl, Problems& problems) {
  problems.Require(IsPositive(ftrl.alpha), "optimizer.alpha", ftrl.alpha, "positive and finite");
  // With beta 0 a value without gradients so far would be divided by 0.
  problems.Require(IsPositive(ftrl.beta), "optimizer.beta", ftrl.beta, "positive and finite");
  problems.Require(IsNotNegative(ftrl.l1), "optimizer.l1", ftrl.l1, "finite and not negative");
  problems.Require(IsNotNegative(ftrl.l2), "optimizer.l2", ftrl.l2, "finite and not negative");
}

void Check(const LearningRateSchedule& schedule, const Optimizer& optimizer, Problems& problems) {
  const bool needs_steps = schedule.decay == LearningRateDecay::kLinear || schedule.decay == LearningRateDecay::kCosine;
  if (needs_steps && schedule.decay_steps == 0) {
    problems.Add("schedule.decay_steps is 0, a linear or cosine decay needs at least 1");
  }
  problems.Require(schedule.final_factor >= 0 && schedule.final_factor <= 1, "schedule.final_factor",
                   schedule.final_factor, "0 .. 1");
  if (std::holds_alternative<Ftrl>(optimizer) && schedule != LearningRateSchedule()) {
    problems.Add("there is a schedule, but Ftrl has a rate of its own per value; remove the schedule");
  }
}

void Check(const XavierInitializer&, Problems&) {}  // any fans will do

void Check(const ConstantInitializer& constant, Problems& problems) {
  problems.Require(std::isfinite(constant.value), "initializer.value", constant.value, "finite");
}

void Check(const UniformInitializer& uniform, Problems& problems) {
  problems.Require(std::isfinite(uniform.low), "initializer.low", uniform.low, "finite");
  problems.Require(std::isfinite(uniform.high), "initializer.high", uniform.high, "finite");
  if (uniform.low > uniform.high) {
    problems.Add("initializer.low " + std::to_string(uniform.low) + " is above initializer.high " +
                 std::to_string(uniform.high));
  } else if (std::isfinite(uniform.low) && std::isfinite(uniform.high)) {
    problems.Require(std::isfinite(uniform.high - uniform.low), "initializer.high - initializer.low",
                     uniform.high - uniform.low, "finite");
  }
}

void Check(const NormalInitializer& normal, Problems& problems) {
  problems.Require(std::isfinite(normal.mean), "initializer.mean", normal.mean, "finite");
  problems.Require(IsNotNegative(normal.standard_deviation), "initializer.standard_deviation",
                   normal.standard_deviation, "finite and not negative");
}

}  // namespace

Status Validate(const TableSpec& spec) {
  Problems problems;
  if (spec.name.empty()) problems.Add("the name is empty");
  if (spec.name.size() > kNameBytesMax) {
    problems.Add("the name has " + std::to_string(spec.name.size()) + " bytes, at most " +
                 std::to_string(kNameBytesMax) + " are allowed");
  }
  if (spec.options.dim < 1 || spec.options.dim > kDimMax) {
    problems.Add("dim is " + std::to_string(spec.options.dim) + ", it must be 1 .. " + std::to_string(kDimMax));
  }
  const auto check = [&](const auto& part) { Check(part, problems); };
  std::visit(check, spec.options.optimizer);
  std::visit(check, spec.options.initializer);
  Check(spec.options.schedule, spec.options.optimizer, problems);
  if (spec.options.value_type > ValueType::kBfloat16) problems.Add("value_type is none of this release");
  if (spec.options.non_finite_gradients > NonFiniteGradients::kSkipRow) {
    problems.Add("non_finite_gradients is none of this release");
  }
  if (problems.text().empty()) return OkStatus();
  return Error(StatusCode::kInvalidArgument,
               "table '" + spec.name.substr(0, kNameBytesMax) + "' has wrong options: " + problems.text());
}

}  // namespace attune::ps
