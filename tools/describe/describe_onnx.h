// ONNX operators and the graph operators that they become, as a table.
#pragma once
#include <string>

/// docs/reference/onnx-operators.md.
std::string onnx_table(bool chinese);
