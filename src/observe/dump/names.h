// How operators and files of a dump are called.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "device/observer.h"

namespace updraft::dump {

/// Type and name of the operator of a task: "Conv2D" and the node's name in a graph; "Add" for aclnnAdd.
std::string type_of(const TaskEvent& task);

/// What file systems and readers take: other characters than letters, digits, "-" and "_" become "_".
std::string clean(std::string_view name);

/// Microseconds since 1970, different at each call.
uint64_t next_timestamp();
/// "20261124183512", local time.
std::string time_folder();

/// The digits that stand for a stream: its number, of the library's own streams (negative) one above 60000.
uint32_t stream_number(int32_t stream);

/// "OpType.OpName.TaskId.StreamId.timestamp".
std::string file_name(std::string_view type, std::string_view name, uint64_t task, int32_t stream, uint64_t timestamp);

/// True for operators of devices that dumps are about: computations and collectives, not copies, events and whole
/// graphs.
bool is_operator(const TaskEvent& task);

/// True when the operator reads the argument. What operators such as aclnnInplaceCopy only write over is none, though
/// its parameter is of both directions: it may be memory that nobody has written yet.
bool is_input(const TaskEvent& task, const Argument& argument);

}  // namespace updraft::dump
