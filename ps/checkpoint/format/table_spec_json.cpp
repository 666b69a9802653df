#include "ps/checkpoint/format/table_spec_json.h"

#include <stdexcept>

#include "ps/store/formulas/table_options.h"

namespace attune::ps {
namespace {

using Json = nlohmann::json;

constexpr char kHexDigits[] = "0123456789ABCDEF";

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  throw std::invalid_argument("a name has a malformed escape");
}

// {"kind": "Adagrad", "rate": 0.05, ...}: every alternative of a variant by the names of its fields.
template <typename Variant>
Json PutVariant(const Variant& variant) {
  Json json;
  std::visit(
      [&](const auto& option) {
        json["kind"] = OptionFields<std::remove_cvref_t<decltype(option)>>::kName;
        ForEachField(option, [&](const char* name, const auto& value) { json[name] = value; });
      },
      variant);
  return json;
}

template <typename Variant>
Variant GetVariant(const Json& from) {
  const auto kind = from.at("kind").get<std::string>();
  Variant variant;
  for (size_t i = 0; i < std::variant_size_v<Variant>; ++i) {
    Emplace(variant, i);
    const bool found = std::visit(
        [&](auto& option) {
          if (kind != OptionFields<std::remove_cvref_t<decltype(option)>>::kName) return false;
          ForEachField(option, [&](const char* name, auto& value) { from.at(name).get_to(value); });
          return true;
        },
        variant);
    if (found) return variant;
  }
  throw std::invalid_argument("the kind '" + kind + "' is unknown");
}

// The value whose description this is, of `count` from 0.
template <typename Enum>
Enum GetEnum(const Json& from, int count) {
  const auto word = from.get<std::string>();
  for (int i = 0; i < count; ++i) {
    if (word == Describe(static_cast<Enum>(i))) return static_cast<Enum>(i);
  }
  throw std::invalid_argument("the word '" + word + "' is unknown");
}

constexpr int kDecays = 4, kValueTypes = 3, kPolicies = 2;

Json PutSchedule(const LearningRateSchedule& schedule) {
  return {{"decay", static_cast<int>(schedule.decay)},
          {"warmupSteps", schedule.warmup_steps},
          {"decaySteps", schedule.decay_steps},
          {"finalFactor", schedule.final_factor}};
}

LearningRateSchedule GetSchedule(const Json& from) {
  const auto decay = from.at("decay").get<int>();
  if (decay < 0 || decay >= kDecays) throw std::invalid_argument("its learning-rate decay is unknown");
  return {.decay = static_cast<LearningRateDecay>(decay),
          .warmup_steps = from.at("warmupSteps").get<uint64_t>(),
          .decay_steps = from.at("decaySteps").get<uint64_t>(),
          .final_factor = from.at("finalFactor").get<float>()};
}

}  // namespace

std::string EscapeText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && c != '%' && c != '"') {
      escaped.push_back(c);
    } else {
      escaped += {'%', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    }
  }
  return escaped;
}

std::string UnescapeText(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) throw std::invalid_argument("a name has a malformed escape");
    plain.push_back(static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2])));
    i += 2;
  }
  return plain;
}

void PutTableSpec(const TableSpec& spec, Json& to) {
  to["name"] = EscapeText(spec.name);
  to["dim"] = spec.options.dim;
  to["dtype"] = Describe(spec.options.value_type);
  to["optimizer"] = PutVariant(spec.options.optimizer);
  to["schedule"] = PutSchedule(spec.options.schedule);
  to["initializer"] = PutVariant(spec.options.initializer);
  to["nonFiniteGradients"] = Describe(spec.options.non_finite_gradients);
  to["seed"] = spec.options.seed;
  to["rowsMax"] = spec.options.rows_max;
}

TableSpec GetTableSpec(const Json& from) {
  TableSpec spec{.name = UnescapeText(from.at("name").get<std::string>()), .options = {}};
  spec.options.dim = from.at("dim").get<uint32_t>();
  spec.options.value_type = GetEnum<ValueType>(from.at("dtype"), kValueTypes);
  spec.options.optimizer = GetVariant<Optimizer>(from.at("optimizer"));
  spec.options.schedule = GetSchedule(from.at("schedule"));
  spec.options.initializer = GetVariant<Initializer>(from.at("initializer"));
  spec.options.non_finite_gradients = GetEnum<NonFiniteGradients>(from.at("nonFiniteGradients"), kPolicies);
  spec.options.seed = from.at("seed").get<uint64_t>();
  spec.options.rows_max = from.at("rowsMax").get<uint64_t>();
  const Status valid = Validate(spec);
  if (!valid.ok()) throw std::invalid_argument(std::string(Message(valid)));
  return spec;
}

}  // namespace attune::ps
