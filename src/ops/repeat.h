// Executors that a client launches many times (aclSetAclOpExecutorRepeatable).
#pragma once
#include "ops/handles.h"

namespace updraft {

class Stream;

/// Puts one run on the stream; others of the same executor may be on streams already.
void launch_repeated(aclOpExecutor& executor, Stream& stream);
/// Releases a planned executor, after its last run when there are runs on streams.
void destroy_executor(aclOpExecutor& executor);

}  // namespace updraft
