// The pool behind aclrtStream handles.
#pragma once
#include "base/handle_pool.h"
#include "device/stream.h"

namespace updraft {
HandlePool<Stream>& stream_pool();
}
