// Caffe's layers and the graph operators that they become, as a table.
#pragma once
#include <string>

/// docs/reference/caffe-layers.md.
std::string caffe_table(bool chinese);
