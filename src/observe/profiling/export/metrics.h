// What the counters of a card's cores would say of an operator, by a model of the card: a CPU has no such counters. The
// columns' names say so.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "observe/profiling/record.h"

namespace updraft::profiling {

/// The columns of a group of metrics ("PipeUtilization", …); empty for "" and for groups that nothing can be said of.
std::vector<std::string> metric_columns(std::string_view group);
/// Their values for a task on that product, in the same order.
std::vector<double> metric_values(std::string_view group, std::string_view product, const TaskRecord& task);

}  // namespace updraft::profiling
