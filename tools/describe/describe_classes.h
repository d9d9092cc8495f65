// C++ classes of the graph operators, for programs that build graphs (include/graph/op_class.h).
#pragma once
#include <map>
#include <string>

/// Headers by their paths below include/: all_ops.h, and graph/ops/FAMILY.h for each source file of operators.
std::map<std::string, std::string> class_headers();
