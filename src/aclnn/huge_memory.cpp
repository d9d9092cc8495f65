// Memory of a thread that a client's operators share. Operators here plan in their executors and take what they need
// from the workspace or from arenas of the engine's threads, so a client that brackets its calls with these has nothing
// to keep or to give back.
#include "base/accepted.h"
#include "base/boundary.h"

extern "C" {
ACCEPTED(InitHugeMemThreadLocal, "operators keep no memory for a calling thread", "算子不为调用线程保留内存")
UPDRAFT_API int InitHugeMemThreadLocal(void*, bool) { return 0; }
ACCEPTED(UnInitHugeMemThreadLocal, "operators keep no memory for a calling thread", "算子不为调用线程保留内存")
UPDRAFT_API void UnInitHugeMemThreadLocal(void*, bool) {}
ACCEPTED(ReleaseHugeMem, "operators keep no memory for a calling thread", "算子不为调用线程保留内存")
UPDRAFT_API void ReleaseHugeMem(void*, bool) {}
}
