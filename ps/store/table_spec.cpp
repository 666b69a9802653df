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
  if (problems.text().empty()) return OkStatus();
  return Error(StatusCode::kInvalidArgument,
               "table '" + spec.name.substr(0, kNameBytesMax) + "' has wrong options: " + problems.text());
}

}  // namespace attune::ps
