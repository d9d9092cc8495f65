// Operators by their types, for the entry points of the aclop era.
#pragma once
#include "acl/tensor_desc.h"

namespace updraft {

/// Puts one operator on a stream. `sized`: the descriptions of the outputs, which get the sizes that the values decide;
/// the stream is waited for where there are such. Null: they stay as they are.
void execute_operator(const char* type, int inputs, const aclTensorDesc* const* in, const aclDataBuffer* const* in_data,
                      int outputs, const aclTensorDesc* const* out, aclDataBuffer* const* out_data,
                      const aclopAttr* attributes, void* stream, aclTensorDesc* const* sized = nullptr);

/// Throws 100024 where there is no such operator, 100000 where a description is none.
void require_operator(const char* type, int inputs, const aclTensorDesc* const* in, int outputs,
                      const aclTensorDesc* const* out);

}  // namespace updraft
