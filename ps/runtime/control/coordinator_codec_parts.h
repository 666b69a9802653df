// What control messages are made of, to and from protobuf; shared by coordinator_encode.cpp and coordinator_decode.cpp.
// Reading checks every list, name and number. Only .cpp files include this header; it brings protobuf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "attune/v1/coordinator.pb.h"
#include "base/status.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps::codec {

void Put(const Status& from, v1::JobStatus* to);
void Put(const ShardMap& from, v1::ShardMap* to);
void Put(const SupportQuestion& from, v1::SupportQuestion* to);
void Put(const SyncState& from, v1::SyncState* to);
void Put(const RequestHeader& from, v1::RequestHeader* to);
void Put(const DataSetOptions& from, v1::DataSetOptions* to);
void Put(const TableSpec& from, v1::TableSpec* to);
void Put(const RestorePoint& from, v1::RestorePoint* to);
void Put(const Heartbeat& from, v1::Heartbeat* to);
void Put(const CoordinatorRecord& from, v1::CoordinatorRecord* to);

Status Get(const v1::JobStatus& from);
StatusOr<Role> Get(v1::NodeRole from);
StatusOr<ShardMap> Get(const v1::ShardMap& from);
SupportQuestion Get(const v1::SupportQuestion& from);
SyncState Get(const v1::SyncState& from);
RequestHeader Get(const v1::RequestHeader& from);
DataSetOptions Get(const v1::DataSetOptions& from);
StatusOr<TableSpec> Get(const v1::TableSpec& from);
StatusOr<RestorePoint> Get(const v1::RestorePoint& from);
StatusOr<Heartbeat> Get(const v1::Heartbeat& from);
StatusOr<CoordinatorRecord> Get(const v1::CoordinatorRecord& from);

// InvalidArgument: "control message with <found> <what>; at most <limit> are allowed".
Status TooMany(const char* what, uint64_t found, uint64_t limit);
Status CheckText(const std::string& text, size_t limit, const char* what);

}  // namespace attune::ps::codec
