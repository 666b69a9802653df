#include "ps/checkpoint/table_spec_json.h"

#include <stdexcept>

namespace attune::ps {
namespace {

using Json = nlohmann::json;

constexpr char kHexDigits[] = "0123456789ABCDEF";

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  throw std::invalid_argument("a name has a wrong escape");
}

struct OptimizerWriter {
  Json operator()(const Sgd& o) const { return {{"kind", "sgd"}, {"rate", o.rate}}; }
  Json operator()(const Adagrad& o) const {
    return {{"kind", "adagrad"},
            {"rate", o.rate},
            {"initialAccumulator", o.initial_accumulator},
            {"epsilon", o.epsilon}};
  }
};

Optimizer GetOptimizer(const Json& from) {
  const auto kind = from.at("kind").get<std::string>();
  const auto number = [&](const char* field) { return from.at(field).get<float>(); };
  if (kind == "sgd") return Sgd{.rate = number("rate")};
  if (kind == "adagrad") {
    return Adagrad{
        .rate = number("rate"), .initial_accumulator = number("initialAccumulator"), .epsilon = number("epsilon")};
  }
  throw std::invalid_argument("its optimizer is of unknown kind '" + kind + "'");
}

struct InitializerWriter {
  Json operator()(const ConstantInitializer& i) const { return {{"kind", "constant"}, {"value", i.value}}; }
  Json operator()(const UniformInitializer& i) const {
    return {{"kind", "uniform"}, {"low", i.low}, {"high", i.high}};
  }
  Json operator()(const NormalInitializer& i) const {
    return {{"kind", "normal"}, {"mean", i.mean}, {"standardDeviation", i.standard_deviation}};
  }
};

Initializer GetInitializer(const Json& from) {
  const auto kind = from.at("kind").get<std::string>();
  const auto number = [&](const char* field) { return from.at(field).get<float>(); };
  if (kind == "constant") return ConstantInitializer{.value = number("value")};
  if (kind == "uniform") return UniformInitializer{.low = number("low"), .high = number("high")};
  if (kind == "normal") {
    return NormalInitializer{.mean = number("mean"), .standard_deviation = number("standardDeviation")};
  }
  throw std::invalid_argument("its initializer is of unknown kind '" + kind + "'");
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
    if (i + 2 >= text.size()) throw std::invalid_argument("a name has a wrong escape");
    plain.push_back(static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2])));
    i += 2;
  }
  return plain;
}

void PutTableSpec(const TableSpec& spec, Json& to) {
  to["name"] = EscapeText(spec.name);
  to["dim"] = spec.options.dim;
  to["dtype"] = "float32";
  to["optimizer"] = std::visit(OptimizerWriter{}, spec.options.optimizer);
  to["initializer"] = std::visit(InitializerWriter{}, spec.options.initializer);
  to["seed"] = spec.options.seed;
  to["rowsMax"] = spec.options.rows_max;
}

TableSpec GetTableSpec(const Json& from) {
  const auto dtype = from.at("dtype").get<std::string>();
  if (dtype != "float32") throw std::invalid_argument("its dtype '" + dtype + "' is unknown");
  TableSpec spec{.name = UnescapeText(from.at("name").get<std::string>()), .options = {}};
  spec.options.dim = from.at("dim").get<uint32_t>();
  spec.options.optimizer = GetOptimizer(from.at("optimizer"));
  spec.options.initializer = GetInitializer(from.at("initializer"));
  spec.options.seed = from.at("seed").get<uint64_t>();
  spec.options.rows_max = from.at("rowsMax").get<uint64_t>();
  const Status valid = Validate(spec);
  if (!valid.ok()) throw std::invalid_argument(std::string(Message(valid)));
  return spec;
}

}  // namespace attune::ps
