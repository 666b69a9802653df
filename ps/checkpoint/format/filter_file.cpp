#include "ps/checkpoint/format/filter_file.h"

#include "ps/checkpoint/format/bytes.h"
#include "ps/checkpoint/format/crc32c.h"

namespace attune::ps {
namespace {

constexpr std::string_view kFilterFileMagic = "ATTUNFLT";
constexpr uint32_t kVersion = 2;
constexpr size_t kOriginBytes = 4 + 8;
constexpr size_t kKeyBytes = 8 + 4;
constexpr size_t kPushBytes = 4 + 8 + 4 + 4 + 4;  // without keys

}  // namespace

std::string EncodeFilterRecords(uint64_t checkpoint, const FilterRecords& records) {
  ByteWriter writer;
  writer.PutBytes(kFilterFileMagic);
  writer.Put(kVersion);
  writer.Put(checkpoint);
  writer.Put(static_cast<uint32_t>(records.origins.size()));
  for (const FilterRecords::Origin& origin : records.origins) {
    writer.Put(origin.node);
    writer.Put(origin.acked_below);
  }
  writer.Put(static_cast<uint32_t>(records.pushes.size()));
  for (const FilterRecords::Push& push : records.pushes) {
    writer.Put(push.origin);
    writer.Put(push.sequence);
    writer.Put(push.table);
    writer.Put(static_cast<uint32_t>(push.refused ? 1 : 0));
    writer.Put(static_cast<uint32_t>(push.keys.size()));
    for (size_t i = 0; i < push.keys.size(); ++i) {
      writer.Put(push.keys[i]);
      writer.Put(push.positions[i]);
    }
  }
  writer.Put(Crc32c(0, writer.bytes()));
  return std::move(writer.bytes());
}

uint32_t DigestOfFilterFile(std::string_view bytes) {
  if (bytes.size() < sizeof(uint32_t)) return 0;
  return ByteReader(bytes.substr(bytes.size() - sizeof(uint32_t))).Get<uint32_t>();
}

StatusOr<FilterRecords> DecodeFilterRecords(uint64_t checkpoint, std::string_view bytes) {
  if (bytes.size() < sizeof(uint32_t) ||
      Crc32c(0, bytes.substr(0, bytes.size() - sizeof(uint32_t))) != DigestOfFilterFile(bytes)) {
    return Damaged("the checksum of its " + std::to_string(bytes.size()) + " bytes does not fit");
  }
  ByteReader reader(bytes.substr(0, bytes.size() - sizeof(uint32_t)));
  if (reader.GetBytes(kFilterFileMagic.size()) != kFilterFileMagic)
    return Damaged("it does not begin as a file of filter records does");
  if (reader.Get<uint32_t>() != kVersion) return Damaged("it has an unknown format version");
  if (reader.Get<uint64_t>() != checkpoint) return Damaged("it is of another checkpoint");
  FilterRecords records;
  const auto origins = reader.Get<uint32_t>();
  if (origins > reader.left() / kOriginBytes) return Damaged("it claims " + std::to_string(origins) + " origins");
  for (uint32_t i = 0; i < origins; ++i) {
    FilterRecords::Origin origin;
    origin.node = reader.Get<uint32_t>();
    origin.acked_below = reader.Get<uint64_t>();
    records.origins.push_back(origin);
  }
  const auto pushes = reader.Get<uint32_t>();
  if (pushes > reader.left() / kPushBytes) return Damaged("it claims " + std::to_string(pushes) + " pushes");
  for (uint32_t i = 0; i < pushes; ++i) {
    FilterRecords::Push push;
    push.origin = reader.Get<uint32_t>();
    push.sequence = reader.Get<uint64_t>();
    push.table = reader.Get<uint32_t>();
    const auto refused = reader.Get<uint32_t>();
    if (refused > 1) return Damaged("a push is neither applied nor refused");
    push.refused = refused == 1;
    const auto keys = reader.Get<uint32_t>();
    if (keys > reader.left() / kKeyBytes) return Damaged("a push claims " + std::to_string(keys) + " keys");
    for (uint32_t k = 0; k < keys; ++k) {
      push.keys.push_back(reader.Get<Key>());
      push.positions.push_back(reader.Get<uint32_t>());
    }
    records.pushes.push_back(std::move(push));
  }
  if (!reader.IsComplete()) return Damaged("it has the wrong length");
  return records;
}

}  // namespace attune::ps
