#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ps/store/table_store.h"

namespace attune::ps::table_spec_test {
namespace {

using testing::HasSubstr;

void ExpectRefused(const char* description, const TableSpec& spec, const std::vector<const char*>& want_in_message) {
  SCOPED_TRACE(description);
  const Status status = Validate(spec);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(TableStore::Create(spec).status(), status);
  for (const char* want : want_in_message) EXPECT_THAT(std::string(Message(status)), HasSubstr(want));
}

TEST(TableSpec, EveryProblemIsNamedAtOnce) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  ExpectRefused("no values", {"t", {.dim = 0}}, {"'t'", "dim is 0", "65536"});
  ExpectRefused("too many values", {"t", {.dim = 65537}}, {"dim is 65537"});
  ExpectRefused("no name", {"", {.dim = 1}}, {"name is empty"});
  ExpectRefused("long name", {std::string(257, 'x'), {.dim = 1}}, {"257 bytes", "256"});
  ExpectRefused("rate zero", {"t", {.dim = 1, .optimizer = Sgd{.rate = 0}}}, {"optimizer.rate is 0", "positive"});
  ExpectRefused("rate NaN", {"t", {.dim = 1, .optimizer = Adagrad{.rate = nan}}}, {"optimizer.rate is nan"});
  ExpectRefused("rate infinite", {"t", {.dim = 1, .optimizer = Sgd{.rate = infinity}}}, {"optimizer.rate is inf"});
  ExpectRefused("negative accumulator", {"t", {.dim = 1, .optimizer = Adagrad{.initial_accumulator = -1}}},
                {"initial_accumulator is -1"});
  ExpectRefused("epsilon zero divides by zero", {"t", {.dim = 1, .optimizer = Adagrad{.epsilon = 0}}},
                {"epsilon is 0"});
  ExpectRefused("bounds swapped", {"t", {.dim = 1, .initializer = UniformInitializer{1, -1}}},
                {"low 1", "above", "high -1"});
  ExpectRefused("range overflows", {"t", {.dim = 1, .initializer = UniformInitializer{-3e38F, 3e38F}}},
                {"initializer.high - initializer.low is inf"});
  ExpectRefused("deviation negative", {"t", {.dim = 1, .initializer = NormalInitializer{0, -1}}},
                {"standard_deviation is -1"});
  ExpectRefused("constant NaN", {"t", {.dim = 1, .initializer = ConstantInitializer{nan}}},
                {"initializer.value is nan"});
  ExpectRefused("three at once",
                {"t", {.dim = 0, .optimizer = Sgd{.rate = -1}, .initializer = NormalInitializer{infinity, 1}}},
                {"dim is 0", "optimizer.rate is -1", "initializer.mean is inf"});
}

TEST(TableSpec, UsualTablesAreValid) {
  EXPECT_TRUE(Validate({"t", {.dim = 1}}).ok());
  EXPECT_TRUE(Validate({"t", {.dim = 65536, .optimizer = Adagrad{}, .initializer = UniformInitializer{}}}).ok());
  EXPECT_TRUE(Validate({"t", {.dim = 64, .optimizer = Adagrad{}, .initializer = NormalInitializer{0, 0}}}).ok());
}

}  // namespace
}  // namespace attune::ps::table_spec_test
