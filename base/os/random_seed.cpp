#include "base/os/random_seed.h"

#include <sys/random.h>

#include <cerrno>

#include "base/check.h"

namespace attune {

uint64_t RandomSeed() {
  uint64_t seed = 0;
  ssize_t count = 0;
  do {
    count = getrandom(&seed, sizeof seed, 0);  // so few bytes come all at once or not at all
  } while (count < 0 && errno == EINTR);
  ATTUNE_CHECK(count == static_cast<ssize_t>(sizeof seed));
  return seed;
}

}  // namespace attune
