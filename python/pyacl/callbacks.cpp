// acl.rt: Python functions on streams; acl.util: threads for them.
#include <memory>

#include "binding.h"

namespace pyacl {
namespace {

/// What a callback on a stream holds until it has run.
struct Waiting {
  Object function, data;
};

/// Runs in the thread that is in process_report, or in one of the library's.
void run(void* data) {
  if (left_behind() || !Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  {
    const std::unique_ptr<Waiting> waiting(static_cast<Waiting*>(data));
    const Object result(PyObject_CallFunctionObjArgs(waiting->function.get(), waiting->data.get(), nullptr));
    if (!result) PyErr_WriteUnraisable(waiting->function.get());
  }
  PyGILState_Release(state);
}

aclError launch(Callable function, Any data, aclrtCallbackBlockType block, aclrtStream stream) {
  auto waiting = std::make_unique<Waiting>(Object::borrow(function.object), Object::borrow(data.object));
  aclError code = ACL_SUCCESS;
  {
    const Unlocked unlocked;
    code = aclrtLaunchCallback(run, waiting.get(), block, stream);
  }
  if (code == ACL_SUCCESS) (void)waiting.release();  // run() has it
  return code;
}

constexpr Row kRows[] = {
    WAIT("subscribe_report", aclrtSubscribeReport, "thread_id, stream"),
    WAIT("unsubscribe_report", aclrtUnSubscribeReport, "thread_id, stream"),
    WAIT("process_report", aclrtProcessReport, "timeout"),
    CALL_AS("launch_callback", "aclrtLaunchCallback", launch, "function, user_data, block_type, stream"),
};

}  // namespace
const Table kCallbacks{"rt", kRows};
}  // namespace pyacl
