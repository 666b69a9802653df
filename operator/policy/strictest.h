// One field that several objects state: which statement is in force, and which ones it overrules. Internal to this
// room.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operator/policy/resolve.h"

namespace attune::policy {

template <class Value>
struct Statement {
  Value value;
  std::string from;
};

template <class Value>
class Field {
 public:
  // `text` is how people read a value.
  template <class Text>
  Field(std::string name, Text text) : name_(std::move(name)), text_(std::move(text)) {}

  void Say(const std::optional<Value>& value, const std::string& from) {
    if (value) statements_.push_back({*value, from});
  }

  // The strictest; the first of equal ones. Adds the row that says so.
  template <class Stricter>
  std::optional<Statement<Value>> Settle(Stricter stricter, std::vector<FieldInForce>& rows) const {
    if (statements_.empty()) return std::nullopt;
    auto first = statements_.begin();
    for (auto each = first; each != statements_.end(); ++each) {
      if (stricter(each->value, first->value)) first = each;
    }
    FieldInForce row{name_, text_(first->value), first->from, {}};
    for (auto each = statements_.begin(); each != statements_.end(); ++each) {
      if (each != first) row.overruled.push_back({text_(each->value), each->from});
    }
    rows.push_back(std::move(row));
    return *first;
  }

 private:
  const std::string name_;
  const std::function<std::string(const Value&)> text_;
  std::vector<Statement<Value>> statements_;
};

}  // namespace attune::policy
