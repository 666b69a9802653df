#include "examples/next-character/standalone.h"

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/time_source.h"
#include "examples/next-character/evaluation.h"
#include "ps/store/table_store.h"

namespace attune::next_character {
namespace {

using Tables = std::array<std::unique_ptr<ps::TableStore>, kLayers>;

class Trainer {
 public:
  Trainer(const Flags& flags, std::span<const Symbol> text, Tables tables)
      : flags_(flags), text_(text), positions_(text, flags.network.context), tables_(std::move(tables)) {
    for (size_t layer = 0; layer < kLayers; ++layer) {
      keys_[layer].resize(Shapes(flags.network)[layer].rows);
      std::iota(keys_[layer].begin(), keys_[layer].end(), ps::Key{0});
    }
  }

  // Each thread takes items until none is left.
  Status Train() {
    {
      std::vector<std::jthread> threads;
      for (uint32_t i = 0; i < flags_.threads; ++i) {
        threads.emplace_back([this] {
          const Status status = TrainItems();
          const std::lock_guard lock(mutex_);
          if (!status.ok()) status_ = status;
        });
      }
    }
    return status_;
  }
  // Mean over the last tenth of the training, where the loss has settled.
  double Loss() const { return loss_ / static_cast<double>(steps_); }
  void Pull(Parameters& parameters) const {
    for (size_t layer = 0; layer < kLayers; ++layer) {
      parameters[layer].resize(Shapes(flags_.network)[layer].size());
      tables_[layer]->Pull(keys_[layer], parameters[layer]);
    }
  }
  const Positions& positions() const { return positions_; }

 private:
  Status TrainItems() {
    Network network(flags_.network);
    Parameters parameters, gradients;
    std::vector<uint64_t> batch;
    const uint64_t items = uint64_t{flags_.epoch_batches} * flags_.epochs;
    for (uint64_t next = next_++; next < items; next = next_++) {
      positions_.Batch(0, next, items, flags_.batch, batch);
      Pull(parameters);
      const double loss = network.LossAndGradients(parameters, text_, batch, gradients);
      for (size_t layer = 0; layer < kLayers; ++layer) {
        RETURN_IF_ERROR(tables_[layer]->Push(keys_[layer], gradients[layer]));
      }
      if (next < items / 10 * 9) continue;
      const std::lock_guard lock(mutex_);
      loss_ += loss;
      ++steps_;
    }
    return OkStatus();
  }

  const Flags& flags_;
  const std::span<const Symbol> text_;
  const Positions positions_;
  const Tables tables_;
  std::array<std::vector<ps::Key>, kLayers> keys_;  // of all rows
  std::atomic<uint64_t> next_ = 0;                  // item, counted over all epochs
  std::mutex mutex_;                                // over what follows
  Status status_ = OkStatus();
  double loss_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace

Status RunStandalone(const Flags& flags) {
  const SystemTime time;
  ASSIGN_OR_RETURN(const Text text, LoadText(flags.text));
  std::puts(text.Description().c_str());
  Tables tables;
  for (size_t layer = 0; layer < kLayers; ++layer) {
    ASSIGN_OR_RETURN(tables[layer],
                     ps::TableStore::Create({kLayerNames[layer], flags.TableOf(layer)}, {.concurrent = true}));
  }
  Trainer trainer(flags, text.symbols, std::move(tables));
  const MonotonicTime start = time.Now();
  RETURN_IF_ERROR(trainer.Train());
  const double seconds = Seconds(time.Now() - start);
  Parameters parameters;
  trainer.Pull(parameters);
  Network network(flags.network);
  const double bits = HeldOutBits(network, parameters, text.symbols, trainer.positions(), flags.judged_characters);
  const double bigram_bits = BigramBits(text.symbols, trainer.positions(), flags.judged_characters);
  std::puts(MakeUp(network, flags.network, parameters, flags.sampling).c_str());
  const double characters = static_cast<double>(uint64_t{flags.batch} * flags.epoch_batches * flags.epochs);
  std::printf(
      "result mode=standalone threads=%u characters=%.0f seconds=%.2f characters_per_second=%.0f loss=%.4f "
      "held_out_bits=%.4f bigram_bits=%.4f\n",
      flags.threads, characters, seconds, characters / seconds, trainer.Loss(), bits, bigram_bits);
  return OkStatus();
}

}  // namespace attune::next_character
