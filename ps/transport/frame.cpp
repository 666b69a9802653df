#include "ps/transport/frame.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "ps/core/check/message_check.h"
#include "ps/core/protocol/limits.h"
#include "ps/transport/frame_fields.h"

namespace attune::ps {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire layout is copied as it is");
static_assert(sizeof(RowVersion) == 8 && std::is_trivially_copyable_v<RowVersion>);
static_assert(sizeof(NodeId) == 4 && std::is_trivially_copyable_v<NodeId>);
static_assert(sizeof(AnnouncedUse) == 4 && std::is_trivially_copyable_v<AnnouncedUse>);
static_assert(sizeof(ShardId) == 4 && std::is_trivially_copyable_v<ShardId>);

using wire::FrameHeader;
using wire::FrameKind;

// Row messages are the first alternatives of Message, in the order of their kinds.
template <FrameKind kind>
using MessageOf = std::variant_alternative_t<static_cast<size_t>(kind) - 1, ps::MessageVariant>;
static_assert(std::is_same_v<MessageOf<FrameKind::kPush>, Push> && std::is_same_v<MessageOf<FrameKind::kPull>, Pull> &&
              std::is_same_v<MessageOf<FrameKind::kLinkAck>, LinkAck> &&
              std::is_same_v<MessageOf<FrameKind::kHandover>, Handover> &&
              std::is_same_v<MessageOf<FrameKind::kInstall>, Install> &&
              std::is_same_v<MessageOf<FrameKind::kCoordinatorAt>, CoordinatorAt>);
constexpr size_t kRowMessages = static_cast<size_t>(FrameKind::kCoordinatorAt);

// What an id, a duration or a plain number is on the wire.
template <typename T>
constexpr auto Plain(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<uint32_t>(value ? 1 : 0);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (std::is_same_v<T, Duration>) {
    return static_cast<uint64_t>(std::max<int64_t>(value.count(), 0));
  } else {
    return value.value();
  }
}
template <typename T, typename Number>
constexpr void SetPlain(T& value, Number number) {
  if constexpr (std::is_same_v<T, bool>) {
    value = number != 0;
  } else if constexpr (std::is_same_v<T, Duration>) {
    value = Duration(static_cast<int64_t>(std::min<uint64_t>(number, Duration::max().count())));
  } else {
    value = T(number);
  }
}

// Strong ids as the words they are.
template <typename Id>
Slice<uint32_t> AsWords(const Slice<Id>& ids) {
  return Slice<uint32_t>(std::make_shared<Slice<Id>>(ids), {reinterpret_cast<const uint32_t*>(ids.data()), ids.size()});
}
template <typename Id>
Slice<uint32_t> AsWords(const std::vector<Id>& ids) {
  std::vector<uint32_t> words(ids.size());
  if (!ids.empty()) std::memcpy(words.data(), ids.data(), ids.size() * sizeof(uint32_t));
  return Slice<uint32_t>(std::move(words));
}

// The codec of Fields that fills a frame; everything but the counts, which follow from the parts.
class FrameWriter {
 public:
  explicit FrameWriter(OutgoingFrame& frame) : frame_(frame), header_(frame.header) {}

  template <typename Word, typename T>
  void Number(Word FrameHeader::*field, const T& value) {
    header_.*field = Plain(value);
  }
  void Flag(uint8_t flag, bool value) {
    if (value) header_.flags = static_cast<uint8_t>(header_.flags | flag);
  }
  void Keys(const Slice<Key>& keys) { frame_.keys = keys; }
  void Versions(const Slice<RowVersion>& versions) { frame_.versions = versions; }
  void Values(const Slice<float>& values) { frame_.values = values; }
  template <typename Ids>
  void Words(const Ids& ids) {
    if (ids.size() > 0) frame_.words = AsWords(ids);
  }
  void Halves(const Slice<uint16_t>& halves) { frame_.halves = halves; }
  void At(const Positions& positions) {
    if (positions.list.empty()) {
      header_.first_position = positions.first;
      header_.position_count = positions.count;
      return;
    }
    Flag(wire::kFlagPositionList, true);
    Words(positions.list);
  }
  void Why(const Status& status) {
    header_.status_code = static_cast<uint16_t>(status.code());
    frame_.extra.append(attune::Message(status).substr(0, kStatusBytesMax));
  }
  void Text(const std::string& text, size_t bytes_max) { frame_.extra.append(text, 0, bytes_max); }
  template <typename T, typename Put>
  void Counted(const std::vector<T>& items, size_t item_bytes, Put put) {
    Extra(static_cast<uint32_t>(items.size()));
    Rest(items, item_bytes, put);
  }
  template <typename T, typename Put>
  void Rest(const std::vector<T>& items, size_t, Put put) {
    for (const T& item : items) put(*this, item);
  }
  template <typename T>
  void Extra(const T& value) {
    const auto number = Plain(value);
    frame_.extra.append(reinterpret_cast<const char*>(&number), sizeof number);
  }

 private:
  OutgoingFrame& frame_;
  FrameHeader& header_;
};

// The codec of Fields that fills a message. What is wrong with a frame beyond its header is in status().
class FrameParser {
 public:
  FrameParser(const FrameHeader& header, const FramePayload& payload) : header_(header), owner_(payload.owner) {
    const std::byte* at = payload.block.data();
    keys_ = Part<Key>(at, header.key_count);
    versions_ = Part<RowVersion>(at, header.version_count);
    if (payload.placed_values != nullptr) {
      values_ = Slice<float>(owner_, {payload.placed_values, header.value_count});
    } else {
      values_ = Part<float>(at, header.value_count);
    }
    words_ = {reinterpret_cast<const uint32_t*>(at), header.word_count};
    at += words_.size_bytes();
    halves_ = Part<uint16_t>(at, header.half_count);
    extra_ = {reinterpret_cast<const char*>(at), header.extra_bytes};
  }

  const Status& status() const { return status_; }

  template <typename Word, typename T>
  void Number(Word FrameHeader::*field, T& value) {
    SetPlain(value, header_.*field);
  }
  void Flag(uint8_t flag, bool& value) { value = (header_.flags & flag) != 0; }
  void Keys(Slice<Key>& keys) { keys = keys_; }
  void Versions(Slice<RowVersion>& versions) { versions = versions_; }
  void Values(Slice<float>& values) { values = values_; }
  template <typename Id>
  void Words(Slice<Id>& ids) {
    if (!words_.empty()) ids = Slice<Id>(owner_, {reinterpret_cast<const Id*>(words_.data()), words_.size()});
  }
  template <typename Id>
  void Words(std::vector<Id>& ids) {
    ids.clear();
    for (const uint32_t word : words_) ids.emplace_back(word);
  }
  void Halves(Slice<uint16_t>& halves) { halves = halves_; }
  void At(Positions& positions) {
    bool listed = false;
    Flag(wire::kFlagPositionList, listed);
    if (listed) return Words(positions.list);
    positions.first = header_.first_position;
    positions.count = header_.position_count;
  }
  void Why(Status& status) {
    const bool known =
        header_.status_code > 0 && header_.status_code <= static_cast<uint16_t>(StatusCode::kUnauthenticated);
    status = Error(known ? static_cast<StatusCode>(header_.status_code) : StatusCode::kUnknown,
                   extra_.substr(0, kStatusBytesMax));
  }
  void Text(std::string& text, size_t bytes_max) { text = extra_.substr(0, bytes_max); }
  template <typename T, typename Take>
  void Counted(std::vector<T>& items, size_t item_bytes, Take take) {
    if (extra_.size() < sizeof(uint32_t)) return CutShort();
    uint32_t count = 0;
    Extra(count);
    if (count > extra_.size() / item_bytes) return CutShort();
    items.resize(count);
    for (T& item : items) take(*this, item);
  }
  template <typename T, typename Take>
  void Rest(std::vector<T>& items, size_t item_bytes, Take take) {
    if (extra_.size() % item_bytes != 0) return CutShort();
    items.resize(extra_.size() / item_bytes);
    for (T& item : items) take(*this, item);
  }
  // The caller has checked that there is as much.
  template <typename T>
  void Extra(T& value) {
    decltype(Plain(value)) number;
    std::memcpy(&number, extra_.data(), sizeof number);
    extra_.remove_prefix(sizeof number);
    SetPlain(value, number);
  }

 private:
  template <typename T>
  Slice<T> Part(const std::byte*& at, uint32_t count) {
    if (count == 0) return {};
    const Slice<T> part(owner_, {reinterpret_cast<const T*>(at), count});
    at += count * sizeof(T);
    return part;
  }
  void CutShort() { status_ = Error(StatusCode::kInvalidArgument, "the records of a frame are cut short"); }

  const FrameHeader& header_;
  const std::shared_ptr<const void>& owner_;
  Slice<Key> keys_;
  Slice<RowVersion> versions_;
  Slice<float> values_;
  std::span<const uint32_t> words_;
  Slice<uint16_t> halves_;
  std::string_view extra_;
  Status status_;
};

template <typename Body>
void Write(FrameWriter& writer, FrameHeader& header, const Body& body) {
  if constexpr (requires { body.map_version; }) header.map_version = body.map_version.value();
  if constexpr (requires { Fields(writer, body); }) {
    Fields(writer, body);
  } else {
    ATTUNE_CHECK(false) << "only row messages come here";
  }
}

template <typename Body>
StatusOr<ps::Message> Parse(const FrameHeader& header, const FramePayload& payload) {
  FrameParser parser(header, payload);
  Body body;
  if constexpr (requires { body.map_version; }) body.map_version = MapVersion(header.map_version);
  Fields(parser, body);
  if (!parser.status().ok()) return parser.status();
  return ps::Message(std::move(body));
}

using Parser = StatusOr<ps::Message> (*)(const FrameHeader&, const FramePayload&);
constexpr auto kParsers = []<size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array<Parser, kRowMessages>{&Parse<std::variant_alternative_t<kIndex, ps::MessageVariant>>...};
}
(std::make_index_sequence<kRowMessages>());

}  // namespace

size_t OutgoingFrame::bytes() const {
  return sizeof header + keys.size() * sizeof(Key) + versions.size() * sizeof(RowVersion) +
         values.size() * sizeof(float) + words.size() * sizeof(uint32_t) + halves.size() * sizeof(uint16_t) +
         extra.size();
}

int OutgoingFrame::Gather(size_t sent, std::span<iovec, kPartsMax> parts) const {
  const std::span<const std::byte> all[kPartsMax] = {std::as_bytes(std::span(&header, 1)), std::as_bytes(keys.view()),
                                                     std::as_bytes(versions.view()),       std::as_bytes(values.view()),
                                                     std::as_bytes(words.view()),          std::as_bytes(halves.view()),
                                                     std::as_bytes(std::span(extra))};
  int used = 0;
  for (std::span<const std::byte> part : all) {
    const size_t skip = std::min(sent, part.size());
    sent -= skip;
    part = part.subspan(skip);
    if (part.empty()) continue;
    parts[static_cast<size_t>(used++)] = {const_cast<std::byte*>(part.data()), part.size()};
  }
  return used;
}

StatusOr<OutgoingFrame> EncodeFrame(const ps::Message& message) {
  if (!IsRowMessage(message)) {
    return Error(StatusCode::kInvalidArgument, std::string(NameOf(message)) + " does not travel on the data plane");
  }
  OutgoingFrame frame{};
  frame.header.magic = wire::kFrameMagic;
  frame.header.kind = static_cast<FrameKind>(message.index() + 1);
  FrameWriter writer(frame);
  std::visit([&](const auto& body) { Write(writer, frame.header, body); }, message);
  if (frame.extra.size() > kMessageBytesMax) {
    return Error(StatusCode::kInvalidArgument, "message is too large for a frame");
  }
  const auto count = [](size_t size) { return static_cast<uint32_t>(std::min<size_t>(size, UINT32_MAX)); };
  frame.header.key_count = count(frame.keys.size());
  frame.header.version_count = count(frame.versions.size());
  frame.header.value_count = count(frame.values.size());
  frame.header.word_count = count(frame.words.size());
  frame.header.half_count = count(frame.halves.size());
  frame.header.extra_bytes = count(frame.extra.size());
  RETURN_IF_ERROR(CheckHeader(frame.header));
  return frame;
}

StatusOr<ps::Message> DecodeFrame(const FrameHeader& header, const FramePayload& payload) {
  const size_t kind = static_cast<size_t>(header.kind);
  if (kind == 0 || kind > kRowMessages) {
    return Error(StatusCode::kInvalidArgument, "frame of a kind that is no message");
  }
  ASSIGN_OR_RETURN(ps::Message message, kParsers[kind - 1](header, payload));
  RETURN_IF_ERROR(CheckMessage(message));
  return message;
}

}  // namespace attune::ps
