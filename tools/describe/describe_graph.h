// Graph operators (ops/ir_op.h) as a table and as JSON.
#pragma once
#include <string>

#include "ops/parameter.h"

/// The default of an attribute; empty when it must be given.
std::string default_text(updraft::Kind kind, const updraft::Default& value);
/// The section of docs/reference/operators.md.
std::string graph_table(bool chinese);
/// {"Add": {"inputs": ["x1", "x2"], "outputs": ["y"], "attributes": {"N": ["Int", "1"]}}, …}; a name ends with ? when
/// it may be absent and with * when it is a list; an attribute without a default has null.
std::string graph_json();
