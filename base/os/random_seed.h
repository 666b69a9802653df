// Where unpredictability comes from: the kernel's generator. Apart from base/random.h, so that pure code, which
// includes that one and is handed its seed, cannot reach this by accident.
#pragma once

#include <cstdint>

namespace attune {

// 64 bits that cannot be foretold; fit for seeds, incarnations and secrets. Waits only in the first moments after the
// machine has started; aborts when the kernel has no such generator.
uint64_t RandomSeed();

}  // namespace attune
