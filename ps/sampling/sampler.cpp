// Sampler of the public interface: which keys, by ps/sampling; their rows, by Table.
#include "attune/ps/sampler.h"

#include <algorithm>
#include <string>

#include "base/random.h"
#include "ps/sampling/key_distribution.h"
#include "ps/sampling/key_pool.h"
#include "ps/sampling/local_draws.h"

namespace attune::ps {

struct Sampler::State {
  Table table;
  SamplingMode mode;
  std::unique_ptr<const KeyDistribution> distribution;
  Random random;
  KeyPool pool = {};
  LocalDraws local = {};
  uint64_t drawn = 0;

  Key Candidate() { return distribution->Draw(random); }
  Key Next() {
    ++drawn;
    return mode == SamplingMode::kPool ? pool.Next(random, [this] { return Candidate(); }) : Candidate();
  }
  Future PullLocal(std::span<Key> keys, std::span<float> rows);
};

// Rows at hand are read when their key is a candidate, and stand first; the others are asked for together.
Future Sampler::State::PullLocal(std::span<Key> keys, std::span<float> rows) {
  const size_t dim = table.dim();
  std::vector<Key> elsewhere;
  size_t here = 0;
  drawn += keys.size();
  while (here + elsewhere.size() < keys.size()) {
    const auto read = [&](Key key) { return table.PullIfHere({&key, 1}, rows.subspan(here * dim, dim)); };
    const LocalDraws::Drawn next = local.Next([this] { return Candidate(); }, read);
    if (next.at_hand) {
      keys[here++] = next.key;
    } else {
      elsewhere.push_back(next.key);
    }
  }
  if (elsewhere.empty()) return Future::Ended(OkStatus());
  std::ranges::copy(elsewhere, keys.subspan(here).begin());
  return table.PullAsync(keys.subspan(here), rows.subspan(here * dim));
}

StatusOr<Sampler> Table::OpenSampler(const SamplerOptions& options) const {
  auto distribution = KeyDistribution::Create(options.distribution);
  if (!distribution.ok()) return Annotate(distribution.status(), "table '" + name() + "'");
  return Sampler(std::unique_ptr<Sampler::State>(new Sampler::State{
      .table = *this, .mode = options.mode, .distribution = *std::move(distribution), .random = Random(options.seed)}));
}

Sampler::Sampler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::~Sampler() = default;

Draw Sampler::Prepare(size_t count) {
  Draw draw(count);
  if (state_->mode == SamplingMode::kLocal) return draw;
  draw.keys_.resize(count);
  std::ranges::generate(draw.keys_, [this] { return state_->Next(); });
  return draw;
}

Draw Sampler::Prepare(size_t count, uint64_t step) {
  Draw draw = Prepare(count);
  // Rows that cannot be announced are asked for when they are pulled.
  if (!draw.keys_.empty()) (void)state_->table.Intend(draw.keys_, step);
  return draw;
}

Status Sampler::Pull(const Draw& draw, std::span<Key> keys, std::span<float> rows) {
  const Status pulled = PullAsync(draw, keys, rows).Wait();
  return pulled.ok() ? pulled : Annotate(pulled, "table '" + state_->table.name() + "'");
}

Future Sampler::PullAsync(const Draw& draw, std::span<Key> keys, std::span<float> rows) {
  const size_t values = draw.size() * state_->table.dim();
  if (keys.size() != draw.size() || rows.size() != values) {
    return Future::Ended(
        Error(StatusCode::kInvalidArgument, "pulling a draw of " + std::to_string(draw.size()) + " keys with " +
                                                std::to_string(values) + " values: there is room for " +
                                                std::to_string(keys.size()) + " and " + std::to_string(rows.size())));
  }
  if (state_->mode == SamplingMode::kLocal) return state_->PullLocal(keys, rows);
  std::ranges::copy(draw.keys_, keys.begin());
  return state_->table.PullAsync(keys, rows);
}

SamplingReport Sampler::report() const {
  const LocalDraws& local = state_->local;
  return {.drawn = state_->drawn,
          .restricted = local.restricted(),
          .here = local.share(),
          .total_variation = state_->drawn == 0 ? 0 : local.distance() / static_cast<double>(state_->drawn)};
}

}  // namespace attune::ps
