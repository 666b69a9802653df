// Answers to pulls, received as a real reader of frames does: values come piece by piece, straight into the place that
// the worker's core names.
#include <algorithm>
#include <utility>

#include "tests/simulation/job/simulation.h"

namespace attune::ps::simulation {
namespace {

constexpr float kPattern = -77;  // no row ever holds it

}  // namespace

// False: it came at once.
bool JobSimulation::BeginReceiving(Place from, Place to, const PullReply& reply) {
  if (random().Chance(0.5)) return false;
  Receiving receiving{.worker = IndexOf(to), .wire = WireBetween(from, to), .from = NodeAt(from), .reply = reply};
  receiving.place = workers_[receiving.worker]->core->PlaceOf(receiving.from, reply.request, reply.rows.size());
  receiving.received = random().Below(reply.rows.size() + 1);
  if (!receiving.place.empty()) {
    Count("answers received in place");
    std::copy_n(reply.rows.data(), receiving.received, receiving.place.data());
  }
  receiving_.emplace(++next_receiving_, std::move(receiving));
  After(network_.Delay(random().Chance(0.2) ? 20 : 1), [this, number = next_receiving_] { EndReceiving(number); });
  return true;
}

void JobSimulation::EndReceiving(uint64_t number) {
  auto node = receiving_.extract(number);
  if (node.empty()) return;
  Receiving& receiving = node.mapped();
  if (!Runs(WorkerPlace(receiving.worker))) return;
  PullReply& reply = receiving.reply;
  if (!receiving.place.empty()) {
    std::copy(reply.rows.begin() + static_cast<ptrdiff_t>(receiving.received), reply.rows.end(),
              receiving.place.begin() + static_cast<ptrdiff_t>(receiving.received));
    reply.rows = Slice<float>(nullptr, receiving.place);
  }
  StepWorker(receiving.worker, Received{.from = receiving.from, .message = std::move(reply)});
}

// What came so far over this connection is lost with it.
void JobSimulation::BreakReceiving(Wire wire) {
  std::erase_if(receiving_, [&](const auto& entry) { return entry.second.wire == wire; });
}

// As FrameReader::Unplace: what is in flight there is completed in memory of its own.
void JobSimulation::Revoke(std::span<const float> rows) {
  for (auto& [number, receiving] : receiving_) {
    const float* const at = receiving.place.data();
    if (at >= rows.data() && at < rows.data() + rows.size()) receiving.place = {};
  }
}

// The rows of a call that has ended are the program's again, and hold what it writes there.
void JobSimulation::GiveBack(std::vector<float> rows) {
  std::ranges::fill(rows, kPattern);
  returned_.push_back(std::move(rows));
}

void JobSimulation::CheckReturnedRows() {
  for (const std::vector<float>& rows : returned_) {
    if (std::ranges::all_of(rows, [](float value) { return value == kPattern; })) continue;
    return Violation("OneWriter: rows were written after their call had returned");
  }
}

}  // namespace attune::ps::simulation
