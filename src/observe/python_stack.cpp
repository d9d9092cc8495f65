#include "observe/python_stack.h"

#include <dlfcn.h>

#include <array>
#include <unordered_map>

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
    find(has_lock, "PyGILState_Check");
    find(take, "PyGILState_Ensure");
    find(give, "PyGILState_Release");
    find(frame, "PyEval_GetFrame");
    find(back, "PyFrame_GetBack");
    find(code, "PyFrame_GetCode");
    find(line, "PyFrame_GetLineNumber");
    find(instruction, "PyFrame_GetLasti");
    find(line_of, "PyCode_Addr2Line");
    if (!line_of) instruction = nullptr;
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
  int (*has_lock)();
  int (*take)();
  void (*give)(int);
  void* (*frame)();
  void* (*back)(void*);
  void* (*code)(void*);
  int (*line)(void*);
  int (*instruction)(void*);  ///< may be null
  int (*line_of)(void*, int);
  void* (*attribute)(void*, const char*);
  const char* (*text)(void*, long*);
  void (*increment)(void*);
  void (*decrement)(void*);
  void (*clear)();
};

const Python& python_functions() {
  static const Python python;
  return python;
}

bool can_be_asked(const Python& python) {
  return python.complete() && python.initialized() && !(python.finalizing && python.finalizing()) && python.state();
}

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
  const Python& python = python_functions();
  std::vector<PythonFrame> frames;
  if (!can_be_asked(python)) return frames;
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

void with_python_places(size_t most, bool wait, FunctionRef<void(const PythonPlace*, size_t)> f) {
  const Python& python = python_functions();
  if (!can_be_asked(python) || (!wait && !(python.has_lock && python.has_lock()))) return;
  std::array<PythonPlace, 64> places;
  most = std::min(most, places.size());
  size_t count = 0;
  const int lock = python.take();
  void* frame = python.frame();
  if (frame) python.increment(frame);
  while (frame && count < most) {
    void* code = python.code(frame);
    // the line of an instruction is a search, which is made once for each place
    places[count++] = {code, python.instruction ? python.instruction(frame) : python.line(frame)};
    if (code) python.decrement(code);  // its frame holds it
    void* outer = python.back(frame);
    python.decrement(frame);  // the outer ones live in the interpreter while the call goes on
    frame = outer;
  }
  if (frame) python.decrement(frame);
  if (count) f(places.data(), count);
  python.give(lock);
}

PythonFrame python_frame(const PythonPlace& place) {
  const Python& python = python_functions();
  static auto* known = new std::unordered_map<void*, PythonFrame>;  // with the interpreter's lock
  const auto [found, fresh] = known->try_emplace(place.code);
  if (fresh && place.code) {
    python.increment(place.code);
    found->second.file = text_of(python, place.code, "co_filename");
    found->second.function = text_of(python, place.code, "co_name");
  }
  PythonFrame frame = found->second;
  frame.line = python.instruction && place.code ? python.line_of(place.code, place.at) : place.at;
  return frame;
}

}  // namespace updraft
