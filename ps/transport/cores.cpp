#include "ps/transport/cores.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/os/file.h"

namespace attune::ps {
namespace {

// A container sees its own group as the root of the hierarchy.
constexpr char kQuotaV2[] = "/sys/fs/cgroup/cpu.max";
constexpr char kQuotaV1[] = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us";
constexpr char kPeriodV1[] = "/sys/fs/cgroup/cpu/cpu.cfs_period_us";

std::string Content(const char* path) {
  auto content = ReadFile(path, 4096);
  return content.ok() ? *std::move(content) : std::string();
}

}  // namespace

int CoresOfQuota(std::string_view cpu_max) {
  long long quota = 0, period = 0;
  const char* const end = cpu_max.data() + cpu_max.size();
  const auto first = std::from_chars(cpu_max.data(), end, quota);
  if (first.ec != std::errc() || quota <= 0) return 0;
  const char* at = first.ptr;
  while (at != end && (*at == ' ' || *at == '\n')) ++at;
  const auto second = std::from_chars(at, end, period);
  if (second.ec != std::errc() || period <= 0) return 0;
  return static_cast<int>(std::min<long long>((quota + period - 1) / period, 1 << 16));
}

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  std::string quota = Content(kQuotaV2);
  if (quota.empty()) quota = Content(kQuotaV1) + " " + Content(kPeriodV1);
  if (const int limit = CoresOfQuota(quota); limit > 0) cores = std::min(cores, limit);
  return std::max(cores, 1);
}

}  // namespace attune::ps
