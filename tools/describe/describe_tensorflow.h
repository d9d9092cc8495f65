// TensorFlow operators and the graph operators that they become, as a table.
#pragma once
#include <string>

/// docs/reference/tensorflow-operators.md.
std::string tensorflow_table(bool chinese);
