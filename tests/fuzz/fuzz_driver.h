// How a fuzz target is written: one function over bytes, which must return for every input; a crash, a sanitizer
// report, an ATTUNE_CHECK or std::abort is a finding. The same file links with libFuzzer where the compiler brings it.
//
//   extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { ...; return 0; }
//
// A target may also say what a good input looks like; most inputs are then that, damaged in a few places, because
// random bytes seldom get past a magic number or a checksum:
//
//   std::vector<uint8_t> attune::fuzz::Example(uint64_t seed) { ... }
//
// In CMakeLists.txt: attune_fuzzer(frame_fuzzer SOURCES frame_fuzzer.cpp LINKS attune::ps_transport). The test runs
// some thousand seeded inputs; by hand: tests/frame_fuzzer --seconds 1800 --keep DIRECTORY, --runs 1000000 --seed 7, or
// with the names of input files. `make fuzz` runs all targets under the sanitizers.
//
// What was found once stays a test: an input that --keep has written goes into NAME.corpus beside the target, in a file
// named after what it shows. Those files are run first, always, and are damaged like examples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace attune::fuzz {

// Optional; see above. Deterministic.
[[gnu::weak]] std::vector<uint8_t> Example(uint64_t seed);

}  // namespace attune::fuzz
