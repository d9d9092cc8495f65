#include "observe/python_stack.h"

#include <dlfcn.h>

namespace updraft {
namespace {

// The functions of Python's stable interface that are used. A process without Python has none of them.
struct Python {
  template <class F>
  static void find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
  }
  Python() {
    find(initialized, "Py_IsInitialized");
    find(finalizing, "Py_IsFinalizing");
    if (!finalizing) find(finalizing, "_Py_IsFinalizing");  // before 3.13
    find(state, "PyGILState_GetThisThreadState");
    find(take, "PyGILState_Ensure");
    find(give, "PyGILState_Release");
    find(frame, "PyEval_GetFrame");
    find(back, "PyFrame_GetBack");
    find(code, "PyFrame_GetCode");
    find(line, "PyFrame_GetLineNumber");
    find(attribute, "PyObject_GetAttrString");
    find(text, "PyUnicode_AsUTF8AndSize");
    find(increment, "Py_IncRef");
    find(decrement, "Py_DecRef");
    find(clear, "PyErr_Clear");
  }
  bool complete() const {
    return initialized && state && take && give && frame && back && code && line && attribute && text && increment &&
           decrement && clear;
  }

  int (*initialized)();
  int (*finalizing)();
  void* (*state)();
  int (*take)();
  void (*give)(int);
  void* (*frame)();
  void* (*back)(void*);
  void* (*code)(void*);
  int (*line)(void*);
  void* (*attribute)(void*, const char*);
  const char* (*text)(void*, long*);
  void (*increment)(void*);
  void (*decrement)(void*);
  void (*clear)();
};

std::string text_of(const Python& python, void* object, const char* name) {
  void* value = python.attribute(object, name);
  const char* text = value ? python.text(value, nullptr) : nullptr;
  std::string result = text ? text : "?";
  if (!text) python.clear();
  if (value) python.decrement(value);
  return result;
}

}  // namespace

std::vector<PythonFrame> python_stack(size_t most) {
  static const Python python;
  std::vector<PythonFrame> frames;
  if (!python.complete() || !python.initialized() || (python.finalizing && python.finalizing())) return frames;
  if (!python.state()) return frames;
  const int lock = python.take();
  void* frame = python.frame();
  if (frame) python.increment(frame);
  while (frame && frames.size() < most) {
    PythonFrame& f = frames.emplace_back();
    f.line = python.line(frame);
    if (void* code = python.code(frame)) {
      f.file = text_of(python, code, "co_filename");
      f.function = text_of(python, code, "co_name");
      python.decrement(code);
    }
    void* outer = python.back(frame);
    python.decrement(frame);
    frame = outer;
  }
  if (frame) python.decrement(frame);
  python.give(lock);
  return frames;
}

}  // namespace updraft
