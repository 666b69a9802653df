// The work that the cores do in fixed scenarios, counted and not timed: messages exactly, allocations of memory against
// a recorded budget. A change that makes every push allocate once more fails here on any machine. The simulations' own
// bookkeeping is counted too; it is the same for the same seed.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/simulation/coordinator/coordinator_simulation.h"
#include "tests/simulation/job/job_simulation.h"
#include "tests/simulation/rows/rows_simulation.h"
#include "tests/simulation/suite.h"

namespace {
std::atomic<uint64_t> allocations{0};

void* Allocate(size_t size, size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = alignment > alignof(std::max_align_t)
                     ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                     : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}
}  // namespace

void* operator new(size_t size) { return Allocate(size, 0); }
void* operator new(size_t size, std::align_val_t alignment) { return Allocate(size, static_cast<size_t>(alignment)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace attune::ps::simulation::work_budget_test {
namespace {

struct Budget {
  const char* name;
  Suite suite;
  uint64_t seeds;
  double allocations_per_message;
};

// A lower count is a new budget; a higher one needs a reason in the commit that raises it.
TEST(WorkBudget, NoScenarioAllocatesMoreThanItDid) {
  const Budget budgets[] = {{"rows", RowSuite(), 100, 32.29},
                            {"coordinator", CoordinatorSuite(), 40, 33.51},
                            {"whole jobs", JobSuite(), 40, 18.52}};
  constexpr uint64_t kFirstSeed = 5001;  // fixed: work is compared with what it was, not searched
  for (const Budget& budget : budgets) {
    const uint64_t before = allocations;
    const SeedsResult result = RunSeeds(budget.suite, kFirstSeed, budget.seeds);
    ASSERT_EQ(result.failure, "");
    const double per_message = static_cast<double>(allocations - before) / static_cast<double>(result.sum.messages);
    std::printf("%s: %.3f allocations per message, budget %.3f\n", budget.name, per_message,
                budget.allocations_per_message);
    EXPECT_LE(per_message, budget.allocations_per_message * 1.01) << budget.name;
    EXPECT_GE(per_message, budget.allocations_per_message * 0.9)
        << budget.name << " allocates much less now: record it, or the next loss passes";
  }
}

}  // namespace
}  // namespace attune::ps::simulation::work_budget_test
