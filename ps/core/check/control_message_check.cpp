// Fields of control messages: each by the rule in its list (ps/core/protocol/field_list.h), and below what concerns
// several fields at once.
#include <cmath>
#include <set>
#include <string>

#include "base/check.h"
#include "base/sync_mode.h"
#include "proto/metric_name.h"
#include "ps/core/check/message_check.h"
#include "ps/core/protocol/field_list.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/table_fields.h"

namespace attune::ps {
namespace {

constexpr Duration kLeaseTimeMax = std::chrono::hours(24);
constexpr double kSecondsMax = 1e9;  // thirty years, a tenth of what a Duration holds

// The first thing that is wrong; OK while nothing is.
class ControlVerdict {
 public:
  void Require(bool holds, const char* what) {
    if (status_.ok() && !holds) status_ = Error(StatusCode::kInvalidArgument, what);
  }
  void Require(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

// --- what concerns several fields of a struct

template <typename Other>
void CheckTogether(const Other&, ControlVerdict&) {}

void CheckTogether(const ShardMap& map, ControlVerdict& verdict) {
  if (map.formed()) verdict.Require(Validate(map));
}
void CheckTogether(const MapUpdate& update, ControlVerdict& verdict) {
  verdict.Require(update.map.formed(), "a map without version");
}
void CheckTogether(const LeaseGrant& grant, ControlVerdict& verdict) {
  verdict.Require(grant.begin <= grant.end, "a lease that ends before it begins");
}
void CheckTogether(const CutRecord::DataSet& data_set, ControlVerdict& verdict) {
  verdict.Require(data_set.lease_items > 0, "a data set with leases of no items");
  verdict.Require(Validate(data_set));
}
// As many holders as leases, each lease once.
void CheckTogether(const CoordinatorRecord::DataSet& data_set, ControlVerdict& verdict) {
  verdict.Require(data_set.holders.size() == data_set.progress.open.size(), "leases without holders");
  std::set<LeaseId> leases;
  for (const CoordinatorRecord::Holder& holder : data_set.holders) {
    verdict.Require(leases.insert(holder.lease).second, "a lease twice");
  }
}
void CheckTogether(const CoordinatorRecord& record, ControlVerdict& verdict) {
  verdict.Require(record.servers >= 1 && record.servers <= kServersMax, "a number of servers that no job has");
  verdict.Require(record.servers_wanted <= kServersMax, "a number of servers that no job has");
  verdict.Require(record.next_node.value() <= kNodeIdMax + 2 * kMembersMax, "a node id that is none");
  verdict.Require(record.closing_from <= record.next_node, "a node id that is none");
}

// --- one value by its rule

void CheckNumber(uint64_t number, Is is, ControlVerdict& verdict) {
  switch (is) {
    case Is::kAnything:
      return;
    case Is::kCount:
      return verdict.Require(number <= kNumberMax, "a number beyond any that can be reached");
    case Is::kNode:
      return verdict.Require(number != 0 && number <= kNodeIdMax, "a node id that is none");
    case Is::kNodeOrNone:
      return verdict.Require(number <= kNodeIdMax, "a node id that is none");
    case Is::kTable:
      return verdict.Require(number != 0 && number <= kTablesMax, "a table id that is none");
    case Is::kTableOrNone:
      return verdict.Require(number <= kTablesMax, "a table id that is none");
    case Is::kLeaseTime:  // a negative one is a very large number
      return verdict.Require(number <= ToNumber(kLeaseTimeMax), "a time beyond any that is given");
    default:
      ATTUNE_CHECK(false) << "a rule for other values than whole numbers";
  }
}

void CheckReal(double number, Is is, ControlVerdict& verdict) {
  switch (is) {
    case Is::kAnything:
      return;
    case Is::kFinite:
      return verdict.Require(std::isfinite(number), "a value that is no finite number");
    case Is::kNotNaN:
      return verdict.Require(!std::isnan(number), "a value that is no number");
    case Is::kSeconds:
      return verdict.Require(std::isfinite(number) && number >= 0 && number <= kSecondsMax, "a time that is none");
    default:
      ATTUNE_CHECK(false) << "a rule for other values than numbers with a fraction";
  }
}

// A name from outside must stay in its directory.
bool IsFileName(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

void CheckText(const std::string& text, const FieldRule& rule, ControlVerdict& verdict) {
  verdict.Require(text.size() <= rule.most, "a text longer than any that is sent");
  if (rule.is == Is::kMetricName) return verdict.Require(contract::IsMetricName(text), "a name that no metric has");
  if (rule.is == Is::kFileName) return verdict.Require(IsFileName(text), "a file outside the checkpoint's directory");
  ATTUNE_CHECK(rule.is == Is::kAnything) << "a rule for other values than texts";
}

// --- a struct by the list of its fields

template <HasFieldList T>
void CheckFields(const T& value, ControlVerdict& verdict);

template <typename Value>
void CheckValue(const Value& value, const FieldRule& rule, ControlVerdict& verdict) {
  if constexpr (WholeNumber<Value>) {
    CheckNumber(ToNumber(value), rule.is, verdict);
  } else if constexpr (std::is_floating_point_v<Value>) {
    CheckReal(value, rule.is, verdict);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    CheckText(value, rule, verdict);
  } else if constexpr (std::is_same_v<Value, Status>) {
    verdict.Require(rule.is != Is::kFailure || !value.ok(), "a refusal or an end without reason");
  } else if constexpr (std::is_same_v<Value, SyncMode>) {
    verdict.Require(value.slack.value_or(0) <= kSlackMax, "a slack that no mode has");
  } else {
    CheckFields(value, verdict);
  }
}
template <typename Value>
void CheckValue(const std::optional<Value>& value, const FieldRule& rule, ControlVerdict& verdict) {
  if (value) CheckValue(*value, rule, verdict);
}
template <typename Value>
void CheckValue(const std::vector<Value>& values, const FieldRule& rule, ControlVerdict& verdict) {
  verdict.Require(values.size() <= rule.most, "a list longer than any that is sent");
  for (const Value& value : values) CheckValue(value, rule, verdict);
}

template <typename T, typename Entry>
void CheckEntry(const T& owner, const Entry& entry, ControlVerdict& verdict) {
  CheckValue(owner.*entry.member, entry.rule, verdict);
}
template <typename T, typename Value>
void CheckEntry(const T& owner, const Columns<T, Value>& entry, ControlVerdict& verdict) {
  CheckValue(owner.*entry.member, AtMost(entry.most), verdict);
}
template <typename T, typename Value>
void CheckEntry(const T& owner, const OneOf<T, Value>& entry, ControlVerdict& verdict) {
  std::visit([&](const auto& alternative) { CheckFields(alternative, verdict); }, owner.*entry.member);
}

template <HasFieldList T>
void CheckFields(const T& value, ControlVerdict& verdict) {
  VisitFields<T>([&](const auto&... entry) { (CheckEntry(value, entry, verdict), ...); });
  CheckTogether(value, verdict);
}

}  // namespace

Status CheckControlMessage(const Message& message) {
  ControlVerdict verdict;
  std::visit(
      [&]<typename Kind>(const Kind& body) {
        if constexpr (HasFieldList<Kind>) CheckFields(body, verdict);
      },
      message);
  if (verdict.status().ok()) return OkStatus();
  return Error(StatusCode::kInvalidArgument,
               std::string("malformed ") + NameOf(message) + ": " + std::string(attune::Message(verdict.status())));
}

}  // namespace attune::ps
