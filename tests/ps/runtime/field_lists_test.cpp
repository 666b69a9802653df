// What is sent is described twice, in the list of each struct and in proto/attune/v1/coordinator.proto: both say the
// same, and the codec made of the lists loses nothing.
#include "ps/core/protocol/field_list.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <typeindex>
#include <typeinfo>

#include "attune/v1/coordinator.pb.h"
#include "ps/core/protocol/messages.h"
#include "ps/runtime/control/coordinator_codec.h"
#include "ps/runtime/control/field_codec.h"
#include "tests/base/seeds.h"
#include "tests/ps/runtime/random_fields.h"

namespace attune::ps::field_lists_test {
namespace {

using codec::Proto;
using codec::ProtoField;
using google::protobuf::Descriptor;

template <typename Use, typename... Kinds>
void ForEachKind(const std::variant<Kinds...>*, Use&& use) {
  const auto use_if_sent = [&]<typename Kind>(const Kind*) {
    if constexpr (HasFieldList<Kind>) use.template operator()<Kind>();
  };
  (use_if_sent(static_cast<const Kinds*>(nullptr)), ...);
}
// use<Kind>() for every kind of control message.
template <typename Use>
void ForEachKind(Use&& use) {
  ForEachKind(static_cast<const MessageVariant*>(nullptr), std::forward<Use>(use));
}

// The message with the field of its kind set; ADD_FAILURE when it travels in no direction, or in both.
std::unique_ptr<Proto> Encoded(const Message& message) {
  const StatusOr<v1::NodeMessage> up = ToNodeMessage(message);
  const StatusOr<v1::CoordinatorMessage> down = ToCoordinatorMessage(message);
  EXPECT_NE(up.ok(), down.ok()) << NameOf(message);
  if (up.ok()) return std::make_unique<v1::NodeMessage>(*up);
  if (down.ok()) return std::make_unique<v1::CoordinatorMessage>(*down);
  return std::make_unique<v1::NodeMessage>();
}

const ProtoField* KindOf(const Proto& envelope) {
  return envelope.GetReflection()->GetOneofFieldDescriptor(envelope, envelope.GetDescriptor()->FindOneofByName("kind"));
}

// Which fields of which protobuf message the lists name.
class NamedFields {
 public:
  template <HasFieldList T>
  void Walk(const Descriptor* message) {
    VisitFields<T>([&](const auto&... entry) { (WalkEntry(entry, message), ...); });
  }
  template <typename Value>
  void WalkValue(const ProtoField* field, const Value*) {
    if constexpr (HasFieldList<Value>) {
      if (field->message_type() != nullptr) Walk<Value>(field->message_type());
    }
  }
  const std::set<const ProtoField*>& found() const { return found_; }

 private:
  const ProtoField* Find(const char* name, const Descriptor* message) {
    const ProtoField* field = message->FindFieldByName(name);
    EXPECT_NE(field, nullptr) << message->full_name() << " has no field '" << name << "', and a list has";
    if (field != nullptr) found_.insert(field);
    return field;
  }

  template <typename T, typename Value>
  void WalkEntry(const Field<T, Value>& entry, const Descriptor* message) {
    const ProtoField* field = Find(entry.name, message);
    if (field != nullptr) WalkValue(field, static_cast<const Value*>(nullptr));
  }
  template <typename T, typename Value>
  void WalkEntry(const Inlined<T, Value>&, const Descriptor* message) {
    if constexpr (HasFieldList<Value>) Walk<Value>(message);
  }
  template <typename T, typename Value>
  void WalkEntry(const Columns<T, Value>&, const Descriptor* message) {
    Walk<Value>(message);
  }
  template <typename T, typename... Alternatives>
  void WalkEntry(const OneOf<T, std::variant<Alternatives...>>& entry, const Descriptor* message) {
    EXPECT_NE(message->FindOneofByName(entry.name), nullptr) << entry.name;
    size_t i = 0;
    const auto walk = [&]<typename Alternative>(const Alternative* alternative) {
      const ProtoField* field = Find(entry.alternatives[i++], message);
      if (field == nullptr) return;
      EXPECT_EQ(field->containing_oneof(), message->FindOneofByName(entry.name)) << field->full_name();
      WalkValue(field, alternative);
    };
    (walk(static_cast<const Alternatives*>(nullptr)), ...);
  }
  template <typename Value>
  void WalkValue(const ProtoField* field, const std::optional<Value>*) {
    EXPECT_TRUE(field->has_presence()) << field->full_name();
    WalkValue(field, static_cast<const Value*>(nullptr));
  }
  template <typename Value>
  void WalkValue(const ProtoField* field, const std::vector<Value>*) {
    EXPECT_TRUE(field->is_repeated()) << field->full_name();
    WalkValue(field, static_cast<const Value*>(nullptr));
  }

  std::set<const ProtoField*> found_;
};

// `message` and all messages that its fields hold.
void Collect(const Descriptor* message, std::set<const Descriptor*>& into) {
  if (!into.insert(message).second) return;
  for (int i = 0; i < message->field_count(); ++i) {
    if (message->field(i)->message_type() != nullptr) Collect(message->field(i)->message_type(), into);
  }
}

TEST(FieldLists, EveryKindTravelsInOneDirectionAndEveryFieldOfTheEnvelopesIsAKind) {
  std::set<const ProtoField*> kinds;
  ForEachKind([&]<typename Kind>() { kinds.insert(KindOf(*Encoded(Kind{}))); });
  int fields = 0;
  for (const Descriptor* envelope : {v1::NodeMessage::descriptor(), v1::CoordinatorMessage::descriptor()}) {
    const auto* kind = envelope->FindOneofByName("kind");
    for (int i = 0; i < kind->field_count(); ++i, ++fields) {
      EXPECT_TRUE(kinds.contains(kind->field(i))) << kind->field(i)->full_name() << " is no kind of message";
    }
  }
  EXPECT_EQ(kinds.size(), static_cast<size_t>(fields)) << "two kinds in one field";
}

TEST(FieldLists, ListsAndTheProtoNameTheSameFields) {
  NamedFields named;
  std::set<const Descriptor*> messages;
  ForEachKind([&]<typename Kind>() {
    const ProtoField* field = KindOf(*Encoded(Kind{}));
    ASSERT_NE(field, nullptr);
    if (field->message_type() != nullptr) Collect(field->message_type(), messages);
    named.WalkValue(field, static_cast<const Kind*>(nullptr));
  });
  // What the codec fills by itself.
  const std::set<std::string> by_hand = {"attune.v1.Join.protocol_version", "attune.v1.JobStatus.code",
                                         "attune.v1.JobStatus.message"};
  for (const Descriptor* message : messages) {
    for (int i = 0; i < message->field_count(); ++i) {
      const ProtoField* field = message->field(i);
      EXPECT_NE(named.found().contains(field), by_hand.contains(field->full_name()))
          << field->full_name() << " is in no list";
    }
  }
}

TEST(FieldLists, RandomMessagesComeBack) {
  ForSeeds(200, [](uint64_t seed) {
    Random random(seed);
    ForEachKind([&]<typename Kind>() {
      Kind message;
      RandomFields(random).Fill(message);
      const std::unique_ptr<Proto> encoded = Encoded(message);
      const std::unique_ptr<Proto> received(encoded->New());
      ASSERT_TRUE(received->ParseFromString(encoded->SerializeAsString()));
      Kind decoded;
      const Status status = codec::GetValue(*received, *KindOf(*received), {}, decoded);
      ASSERT_TRUE(status.ok()) << NameOf(message) << ": " << status << " seed " << seed;
      ASSERT_TRUE(decoded == message) << NameOf(message) << " seed " << seed << ": " << received->DebugString();
    });
  });
}

// Every text and list of every struct.
class Limits {
 public:
  template <HasFieldList T>
  void Walk(const Descriptor* message) {
    if (!walked_.insert(typeid(T)).second) return;
    VisitFields<T>([&](const auto&... entry) { (WalkEntry(entry, message), ...); });
  }
  int checked() const { return checked_; }

 private:
  static constexpr size_t kLargest = 1 << 17;  // larger lists are bounded by the size of a message first

  template <typename T, typename Value>
  void WalkEntry(const Field<T, Value>& entry, const Descriptor* message) {
    const ProtoField* field = message->FindFieldByName(entry.name);
    T value;
    if constexpr (kNeedsLimit<Value>) {
      if (entry.rule.most > kLargest) return;
      (value.*entry.member).resize(entry.rule.most);
      EXPECT_TRUE(IsRead(value, message)) << field->full_name();
      (value.*entry.member).resize(entry.rule.most + 1);
      EXPECT_FALSE(IsRead(value, message)) << field->full_name();
      ++checked_;
    }
    WalkInto(field, value.*entry.member);
  }
  template <typename T, typename Value>
  void WalkEntry(const Inlined<T, Value>&, const Descriptor* message) {
    if constexpr (HasFieldList<Value>) Walk<Value>(message);
  }
  template <typename Entry>
  void WalkEntry(const Entry&, const Descriptor*) {}

  template <typename Value>
  void WalkInto(const ProtoField* field, const Value&) {
    if constexpr (HasFieldList<Value>) Walk<Value>(field->message_type());
  }
  template <typename Value>
  void WalkInto(const ProtoField* field, const std::optional<Value>&) {
    if constexpr (HasFieldList<Value>) Walk<Value>(field->message_type());
  }
  template <typename Value>
  void WalkInto(const ProtoField* field, const std::vector<Value>&) {
    if constexpr (HasFieldList<Value>) Walk<Value>(field->message_type());
  }

  template <typename T>
  static bool IsRead(const T& value, const Descriptor* message) {
    const std::unique_ptr<Proto> encoded(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(message)->New());
    codec::Put(value, *encoded);
    T read;
    return codec::Get(*encoded, read).ok();
  }

  std::set<std::type_index> walked_;
  int checked_ = 0;
};

TEST(FieldLists, TextsAndListsBeyondTheirLimitsAreRefused) {
  Limits limits;
  ForEachKind([&]<typename Kind>() {
    const ProtoField* field = KindOf(*Encoded(Kind{}));
    if (field != nullptr && field->message_type() != nullptr) limits.Walk<Kind>(field->message_type());
  });
  EXPECT_GT(limits.checked(), 30);
}

}  // namespace
}  // namespace attune::ps::field_lists_test
