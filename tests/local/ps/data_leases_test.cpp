// Which items count as done when a worker is asked to leave in the middle of a lease, for each way in which a program
// may end its loops. What the leaving worker does not finish is done by another, so every count is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ps/runtime/worker/data_leases.h"
#include "ps/runtime/worker/worker_runtime.h"
#include "tests/local/ps/session_fixture.h"

namespace attune::ps::data_leases_test {
namespace {

constexpr uint64_t kItems = 600, kLeaseItems = 100;

class DataLeasesDrainTest : public SessionTest {
 protected:
  // A worker's program as far as the test goes: process an item, look whether to leave.
  struct Program {
    std::shared_ptr<WorkerRuntime> runtime;
    std::vector<std::atomic<int>>& counts;
    uint64_t drain_after;  // items; then the worker is asked to leave
    std::atomic<uint64_t> processed = 0;

    DataLeaseRange Leases() {
      return DataLeaseRange(std::make_shared<DataLeaseRange::State>(
          runtime, "train", DataSetOptions{.items = kItems, .lease_items = kLeaseItems}, std::chrono::seconds(30),
          nullptr));
    }
    void Process(uint64_t item) {
      ++counts[item];
      if (++processed == drain_after) runtime->RequestDrain("the test asks for it");
    }
    bool draining() { return runtime->drain().Notice(); }
  };
  using Loops = std::function<void(Program&)>;

  void Run(const Loops& loops, uint32_t index, uint64_t drain_after, std::vector<std::atomic<int>>& counts) {
    auto runtime = WorkerRuntime::Start(WorkerOptions(index), time_);
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    const auto joined = (*runtime)->Submit(JoinCall{}, std::chrono::seconds(30));
    joined->Wait();
    ASSERT_TRUE(joined->status.ok()) << joined->status;
    Program program{.runtime = *runtime, .counts = counts, .drain_after = drain_after};
    loops(program);
    const auto left = (*runtime)->Submit(LeaveCall{}, std::chrono::seconds(30));
    left->Wait();
    EXPECT_TRUE(left->status.ok()) << left->status;
    (*runtime)->Stop();
  }

  // A worker with these loops is asked to leave after so many items; another one does the rest.
  std::vector<int> CountsWhenAskedToLeave(const Loops& loops, uint64_t drain_after) {
    StartServers(1);
    const auto keeper = Connect(9);  // the job continues without the worker that leaves
    std::vector<std::atomic<int>> counts(kItems);
    Run(loops, 0, drain_after, counts);
    Run(
        [](Program& program) {
          for (const DataLease& lease : program.Leases()) {
            for (uint64_t item = lease.begin(); item < lease.end(); ++item) program.Process(item);
          }
        },
        1, ~uint64_t{0}, counts);
    return {counts.begin(), counts.end()};
  }
  void ExpectEachOnce(const Loops& loops) {
    for (const uint64_t drain_after : {1U, 30U, 99U, 100U, 101U, 250U}) {
      const std::vector<int> counts = CountsWhenAskedToLeave(loops, drain_after);
      const auto [least, most] = std::ranges::minmax(counts);
      EXPECT_EQ(least, 1) << "items were lost; asked to leave after " << drain_after;
      EXPECT_EQ(most, 1) << "items were processed again; asked to leave after " << drain_after;
    }
  }
};

TEST_F(DataLeasesDrainTest, NothingIsLostWhenTheBodyEndsEarlyAndTheRangeContinues) {
  ExpectEachOnce([](Program& program) {
    for (const DataLease& lease : program.Leases()) {
      for (uint64_t item = lease.begin(); item < lease.end() && !program.draining(); ++item) {
        program.Process(item);
        lease.Advance(item + 1);
      }
    }
  });
}

TEST_F(DataLeasesDrainTest, NothingIsLostWhenTheLoopIsLeftByBreakReturnOrException) {
  ExpectEachOnce([](Program& program) {
    for (const DataLease& lease : program.Leases()) {
      for (uint64_t item = lease.begin(); item < lease.end() && !program.draining(); ++item) {
        program.Process(item);
        lease.Advance(item + 1);
      }
      if (program.draining()) break;
    }
  });
  ExpectEachOnce([](Program& program) {
    for (const DataLease& lease : program.Leases()) {
      for (uint64_t item = lease.begin(); item < lease.end(); ++item) {
        program.Process(item);
        lease.Advance(item + 1);
        if (program.draining()) return;
      }
    }
  });
  ExpectEachOnce([](Program& program) {
    try {
      for (const DataLease& lease : program.Leases()) {
        for (uint64_t item = lease.begin(); item < lease.end(); ++item) {
          program.Process(item);
          lease.Advance(item + 1);
          if (program.draining()) throw std::runtime_error("leaving");
        }
      }
    } catch (const std::runtime_error&) {
    }
  });
}

TEST_F(DataLeasesDrainTest, AProgramThatKnowsNothingOfDrainsDoesItsLastLeaseWhole) {
  ExpectEachOnce([](Program& program) {
    for (const DataLease& lease : program.Leases()) {
      for (uint64_t item = lease.begin(); item < lease.end(); ++item) program.Process(item);
    }
  });
}

TEST_F(DataLeasesDrainTest, AProgramThatNeverAdvancesRepeatsItemsRatherThanLosingThem) {
  const std::vector<int> counts = CountsWhenAskedToLeave(
      [](Program& program) {
        for (const DataLease& lease : program.Leases()) {
          for (uint64_t item = lease.begin(); item < lease.end() && !program.draining(); ++item) program.Process(item);
        }
      },
      130);
  EXPECT_EQ(std::ranges::count(counts, 1), kItems - 30);
  EXPECT_EQ(std::ranges::count(counts, 2), 30) << "of the lease that was begun";
}

TEST_F(DataLeasesDrainTest, ThreadsThatShareALeaseAdvanceItTogether) {
  ExpectEachOnce([](Program& program) {
    constexpr uint64_t kThreads = 4;
    for (const DataLease& lease : program.Leases()) {
      for (uint64_t begin = lease.begin(); begin < lease.end() && !program.draining(); begin += kThreads) {
        std::vector<std::thread> team;
        for (uint64_t item = begin; item < begin + kThreads; ++item) {
          team.emplace_back([&program, item] { program.Process(item); });
        }
        for (std::thread& thread : team) thread.join();
        // In any order: the highest counts.
        lease.Advance(begin + kThreads);
        lease.Advance(begin + 1);
      }
    }
  });
}

TEST_F(DataLeasesDrainTest, EachThreadMayWorkOnARangeOfItsOwn) {
  ExpectEachOnce([](Program& program) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&program] {
        for (const DataLease& lease : program.Leases()) {
          for (uint64_t item = lease.begin(); item < lease.end() && !program.draining(); ++item) {
            program.Process(item);
            lease.Advance(item + 1);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace attune::ps::data_leases_test
