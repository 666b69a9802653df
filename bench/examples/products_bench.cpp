// The examples' matrix products against Eigen's, side by side: billion operations per second of CPU, one thread. Both
// are compiled as the project is, for the oldest x86-64; the examples' loop also for newer ones, chosen when it runs.

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <vector>

#include "bench/cpu_seconds.h"
#include "examples/support/products.h"

namespace attune::examples {
namespace {

struct Shape {
  size_t m, k, n;
  const char* where;
};
constexpr std::array kShapes = {
    Shape{1024, 64, 512, "scores of package-graph"}, Shape{1024, 385, 256, "first hidden layer of next-character"},
    Shape{385, 1024, 256, "its gradient"}, Shape{1024, 129, 98, "output layer of next-character"}};

// Products per second in the best of short slices.
double Rate(const std::function<void()>& product) {
  double best = 0;
  for (int slice = 0; slice < 5; ++slice) {
    const double began = ThreadCpuSeconds();
    int count = 0;
    for (; ThreadCpuSeconds() < began + 0.05; ++count) product();
    best = std::max(best, count / (ThreadCpuSeconds() - began));
  }
  return best;
}

void Compare(const Shape& shape) {
  const auto [m, k, n, where] = shape;
  std::vector<float> a(m * k, 0.5F), b(k * n, 0.25F), c(m * n);
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto map = [](std::vector<float>& values, size_t rows, size_t columns) {
    return Eigen::Map<RowMajor>(values.data(), static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
  };
  auto eigen_a = map(a, m, k), eigen_b = map(b, k, n), eigen_c = map(c, m, n);
  const double operations = 2e-9 * static_cast<double>(m * k * n);
  const double ours = operations * Rate([&] { AddProduct({a.data(), m, k}, {b.data(), k, n}, {c.data(), m, n}); });
  const double eigen = operations * Rate([&] { eigen_c.noalias() += eigen_a * eigen_b; });
  std::printf("%4zux%4zux%4zu  %-38s ours %5.1f  Eigen %5.1f  ratio %.2f\n", m, k, n, where, ours, eigen, ours / eigen);
}

}  // namespace
}  // namespace attune::examples

int main() {
  for (const auto& shape : attune::examples::kShapes) attune::examples::Compare(shape);
}
