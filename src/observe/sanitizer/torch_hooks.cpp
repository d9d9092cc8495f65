// torch_npu tells Python of what its caching allocator does (torch_npu.utils._npu_trace): for each event it imports
// that module and calls a function of it. Here are functions of C for both, which cost a tenth of what Python's cost,
// and which an exception does not trouble that is on its way already: torch frees tensors then, too, and Python's
// functions would replace the exception by a SystemError. python/updraft/sanitizer/inside.py puts them into their
// places.
#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "base/boundary.h"
#include "device/memory.h"
#include "observe/sanitizer/install.h"

namespace updraft::sanitizer {
namespace {

struct PyObject;
struct PyMethodDef {
  const char* name;
  void* function;
  int flags;
  const char* text;
};
constexpr int kFast = 0x80, kKeywords = 0x02;  // METH_FASTCALL, METH_KEYWORDS

// The functions of the interpreter that are used. All of them are needed.
struct Python {
  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
    complete &= function != nullptr;
  }
  Python() {
    find(make_function, "PyCFunction_NewEx");
    find(make_capsule, "PyCapsule_New");
    find(call, "PyObject_Vectorcall");
    find(is_true, "PyObject_IsTrue");
    find(equals, "PyUnicode_CompareWithASCIIString");
    find(pointer, "PyLong_AsVoidPtr");
    find(raised, "PyErr_Occurred");
    find(take, "PyErr_Fetch");
    find(restore, "PyErr_Restore");
    find(increment, "Py_IncRef");
    none = static_cast<PyObject*>(dlsym(RTLD_DEFAULT, "_Py_NoneStruct"));
    complete &= none != nullptr;
  }
  bool complete = true;
  PyObject* (*make_function)(PyMethodDef*, PyObject*, PyObject*);
  PyObject* (*make_capsule)(void*, const char*, void (*)(PyObject*));
  PyObject* (*call)(PyObject*, PyObject* const*, size_t, PyObject*);
  int (*is_true)(PyObject*);
  int (*equals)(PyObject*, const char*);
  void* (*pointer)(PyObject*);
  PyObject* (*raised)();
  void (*take)(PyObject**, PyObject**, PyObject**);
  void (*restore)(PyObject*, PyObject*, PyObject*);
  void (*increment)(PyObject*);
  PyObject* none = nullptr;
};
const Python& python() {
  static const Python functions;
  return functions;
}

constexpr const char* kModule = "torch_npu.utils._npu_trace";

PyObject* g_import = nullptr;   // builtins.__import__ as it was
PyObject* g_package = nullptr;  // torch_npu, which an import of the module gives
std::atomic<bool> g_direct{true};

/// The exception that was on its way when torch_npu began to tell of something.
struct Raised {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
};
thread_local Raised t_raised;

/// What the functions below return. An exception that was put aside goes on its way when torch_npu drops the result: a
/// function that returns must not have raised.
PyObject* done() {
  const Python& py = python();
  if (t_raised.type) {
    const auto go_on = [](PyObject*) {
      const Raised raised = t_raised;
      t_raised = {};
      python().restore(raised.type, raised.value, raised.trace);
    };
    static char here;
    if (PyObject* result = py.make_capsule(&here, nullptr, go_on)) return result;
  }
  py.increment(py.none);
  return py.none;
}

const void* address(PyObject* const* arguments, long count) {
  if (count < 1) return nullptr;
  const Python& py = python();
  return host_address(py.pointer(arguments[0]));
}

PyObject* taken(PyObject*, PyObject* const* arguments, long count) {
  if (const void* at = address(arguments, count)) tell_block(at, true);
  return done();
}
PyObject* freed(PyObject*, PyObject* const* arguments, long count) {
  if (const void* at = address(arguments, count)) tell_block(at, false);
  return done();
}
PyObject* ignored(PyObject*, PyObject* const*, long) { return done(); }

// __import__(name, globals, locals, fromlist, level)
PyObject* import(PyObject*, PyObject* const* arguments, long count, PyObject* keywords) {
  const Python& py = python();
  if (!keywords && count == 5 && g_direct.load(std::memory_order_relaxed) && py.equals(arguments[0], kModule) == 0) {
    if (!t_raised.type && py.raised()) py.take(&t_raised.type, &t_raised.value, &t_raised.trace);
    if (py.is_true(arguments[3]) == 0) {
      py.increment(g_package);
      return g_package;
    }
  }
  return py.call(g_import, arguments, static_cast<size_t>(count), keywords);
}

PyMethodDef g_methods[] = {
    {"taken", reinterpret_cast<void*>(taken), kFast, nullptr},
    {"freed", reinterpret_cast<void*>(freed), kFast, nullptr},
    {"ignored", reinterpret_cast<void*>(ignored), kFast, nullptr},
    {"__import__", reinterpret_cast<void*>(import), kFast | kKeywords, nullptr},
};

}  // namespace
}  // namespace updraft::sanitizer

using namespace updraft::sanitizer;

/// The function of that number, for Python; null where the interpreter lacks something.
extern "C" UPDRAFT_API void* updraft_sanitizer_function(int number) {
  if (!python().complete || number < 0 || number > 2) return nullptr;
  return python().make_function(&g_methods[number], nullptr, nullptr);
}
/// The same in place of `import`, for whom an import of torch_npu's module gives `package`.
extern "C" UPDRAFT_API void* updraft_sanitizer_import(void* import, void* package) {
  if (!python().complete || g_import) return nullptr;
  python().increment(g_import = static_cast<PyObject*>(import));
  python().increment(g_package = static_cast<PyObject*>(package));
  return python().make_function(&g_methods[3], nullptr, nullptr);
}
/// A number that grows with what the library has seen, for updraft_sanitizer_blocks.
extern "C" UPDRAFT_API uint64_t updraft_sanitizer_now() { return blocks_now(); }
/// The blocks that torch_npu's allocator says are in use, asked for after updraft_sanitizer_now() gave `since`.
extern "C" UPDRAFT_API void updraft_sanitizer_blocks(void** blocks, size_t count, uint64_t since) {
  for (size_t i = 0; i < count; ++i) blocks[i] = updraft::host_address(blocks[i]);
  tell_blocks({blocks, count}, since);
}
/// From now on torch_npu's events have functions of Python as well, which want no exception.
extern "C" UPDRAFT_API void updraft_sanitizer_indirect() { g_direct = false; }
/// Around torch_npu's copies of the operands of an operator that runs on the CPU.
extern "C" UPDRAFT_API void updraft_sanitizer_fallback(int on) { set_fallback(on != 0); }
