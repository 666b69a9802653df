#include "ps/core/link/message_bytes.h"

namespace attune::ps {
namespace {

constexpr size_t kMessageBytes = 256;  // of a message without its arrays

size_t BytesOfRows(const RowBatch& rows) {
  return rows.keys.size() * (sizeof(Key) + sizeof(RowVersion) + sizeof(uint16_t)) + rows.values.size() * sizeof(float);
}
size_t BytesOfCopy(const Replicate& replicate) {
  return replicate.keys.size() * (sizeof(Key) + sizeof(RowVersion)) + replicate.gradients.size() * sizeof(float);
}

}  // namespace

size_t BytesOf(const Message& message) {
  return std::visit(
      [](const auto& body) {
        size_t bytes = kMessageBytes;
        if constexpr (requires { body.keys; }) bytes += body.keys.size() * sizeof(Key);
        if constexpr (requires { body.gradients; }) bytes += body.gradients.size() * sizeof(float);
        if constexpr (requires { body.rows.values; }) bytes += BytesOfRows(body.rows);
        if constexpr (requires { body.records.records; }) bytes += body.records.records.size() * sizeof(FilterRecord);
        if constexpr (requires { body.entries.owners; }) {
          bytes += body.entries.keys.size() * (sizeof(Key) + sizeof(NodeId) + sizeof(uint16_t));
        }
        if constexpr (requires { body.replicate; }) bytes += BytesOfCopy(body.replicate);
        return bytes;
      },
      message);
}

}  // namespace attune::ps
