// CRC-32C (Castagnoli, polynomial 0x1EDC6F41, reflected): the checksum of everything in a checkpoint. Uses the
// processor's instruction where there is one. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

namespace attune::ps {

// Of `bytes` after something whose checksum is `crc`; 0 to start.
uint32_t Crc32c(uint32_t crc, std::string_view bytes);

// The same by table on any processor; the twin of Crc32c in tests.
uint32_t PortableCrc32c(uint32_t crc, std::string_view bytes);

}  // namespace attune::ps
