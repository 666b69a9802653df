#include "operator/kube/credentials/credential_cache.h"

#include <algorithm>
#include <utility>

namespace attune::kube {
namespace {

constexpr Duration kMarginMax =
    std::chrono::seconds(30);    // before the expiration, for a run and for clocks that differ
constexpr int kMarginShare = 4;  // of a short lifetime
constexpr Duration kUsedAtLeast = std::chrono::seconds(5);  // also what has expired already by this machine's clock
constexpr Duration kProven = std::chrono::minutes(1);
constexpr Duration kFirstPause = std::chrono::seconds(1), kLongestPause = std::chrono::minutes(1);

}  // namespace

CredentialCache::Step CredentialCache::Next(WallTime wall, MonotonicTime now) const {
  if (held_ && !refused_ && wall < renew_at_) return Step::kUse;
  if (now >= run_after_) return Step::kRun;
  return IsUsable(wall) ? Step::kUse : Step::kFail;
}

bool CredentialCache::IsUsable(WallTime wall) const {
  return held_ && !refused_ && (!held_->expires || wall < std::max(*held_->expires, renew_at_));
}

void CredentialCache::OnObtained(ExecCredential credential, WallTime wall, MonotonicTime now) {
  if (held_ && !refused_ && now - obtained_at_ >= kProven) misses_ = 0;
  held_ = std::move(credential);
  ++number_;
  obtained_at_ = now;
  refused_ = false;
  failure_ = OkStatus();
  renew_at_ = WallTime::max();
  if (held_->expires) {
    const Duration lifetime = std::max<Duration>(*held_->expires - wall, Duration::zero());
    renew_at_ = std::max(*held_->expires - std::min(kMarginMax, lifetime / kMarginShare), wall + kUsedAtLeast);
  }
}

void CredentialCache::OnFailed(Status status, MonotonicTime now) {
  failure_ = std::move(status);
  Pause(++misses_, now);
}

void CredentialCache::OnRefused(uint64_t number, MonotonicTime now) {
  if (number != number_ || refused_) return;  // of one that has been replaced, or known already
  refused_ = true;
  misses_ = now - obtained_at_ >= kProven ? 1 : misses_ + 1;
  failure_ =
      Error(StatusCode::kUnauthenticated,
            "the API server refuses what the program gives (401); log in again with it, as a user of this cluster");
  // The first time a new one may help at once.
  if (misses_ > 1) Pause(misses_ - 1, now);
}

void CredentialCache::Pause(uint32_t misses, MonotonicTime now) {
  const int doublings = static_cast<int>(std::min<uint32_t>(misses, 10)) - 1;
  run_after_ = now + std::min(kFirstPause * (1 << doublings), kLongestPause);
}

}  // namespace attune::kube
