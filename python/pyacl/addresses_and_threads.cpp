// acl.util: between Python's bytes, numpy's arrays and addresses; threads that serve callbacks.
#include "binding.h"

namespace pyacl {
namespace {

// --- addresses

void* bytes_to_ptr(Bytes bytes) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  return PyBytes_AsStringAndSize(bytes.object, &data, &size) ? nullptr : data;
}

/// Host code that reads an address of the device crashes on the card; here it can be told. False with ValueError set.
bool readable(const char* function, const void* address, size_t size) {
  aclrtPtrAttributes attributes = {};
  if (!address && size) {
    PyErr_Format(PyExc_ValueError, "acl.util.%s: ptr is 0, want the address of host memory", function);
    return false;
  }
  if (!address || aclrtPointerGetAttributes(address, &attributes) ||
      attributes.location.type != ACL_MEM_LOCATION_TYPE_DEVICE)
    return true;
  PyErr_Format(PyExc_ValueError,
               "acl.util.%s: ptr is memory of device %u, which the host cannot read: copy it to host memory first "
               "(acl.rt.memcpy with kind 2, ACL_MEMCPY_DEVICE_TO_HOST)",
               function, attributes.location.id);
  return false;
}

Data ptr_to_bytes(void* address, size_t size) {
  if (!readable("ptr_to_bytes", address, size)) return {};
  return Data(PyBytes_FromStringAndSize(static_cast<const char*>(address), static_cast<Py_ssize_t>(size)));
}

// --- numpy, which need not be there for the rest

/// Where an array's data lies; null with an exception set.
void* address_of(const char* function, PyObject* array) {
  const Object interface(PyObject_GetAttrString(array, "__array_interface__"));
  PyObject* data = interface && PyDict_Check(interface.get()) ? PyDict_GetItemString(interface.get(), "data") : nullptr;
  PyObject* strides = data ? PyDict_GetItemString(interface.get(), "strides") : nullptr;
  if (!data || !PyTuple_Check(data)) {
    PyErr_Clear();
    Given{array, "acl.util", function, "array"}.refuse("a numpy array");
    return nullptr;
  }
  if (strides && strides != Py_None) {
    PyErr_Format(PyExc_ValueError,
                 "acl.util.%s: array is not C-contiguous, so its bytes are not in the order of its elements: take "
                 "acl.util.numpy_contiguous_to_ptr, or numpy.ascontiguousarray first",
                 function);
    return nullptr;
  }
  return PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
}

void* numpy_to_ptr(Any array) { return address_of("numpy_to_ptr", array.object); }

Array call_numpy(const char* name, PyObject* arguments) {
  const Object owned(arguments), numpy(PyImport_ImportModule("numpy"));
  const Object function(numpy && owned ? PyObject_GetAttrString(numpy.get(), name) : nullptr);
  return Array(function ? PyObject_CallObject(function.get(), owned.get()) : nullptr);
}

void* numpy_contiguous_to_ptr(Any array, Array* contiguous) {
  *contiguous = call_numpy("ascontiguousarray", PyTuple_Pack(1, array.object));
  return *contiguous ? address_of("numpy_contiguous_to_ptr", contiguous->get()) : nullptr;
}

/// numpy's numbers of types (NPY_BOOL = 0 … NPY_CLONGDOUBLE = 16, NPY_HALF = 23) and what it calls them.
char type_code(int number) {
  constexpr std::string_view kCodes = "?bBhHiIlLqQfdgFDG";
  if (number == 23) return 'e';
  return number >= 0 && static_cast<size_t>(number) < kCodes.size() ? kCodes[static_cast<size_t>(number)] : '\0';
}

Array ptr_to_numpy(void* address, const List<int64_t>& shape, int number) {
  const char code[] = {type_code(number), '\0'};
  if (!code[0]) {
    PyErr_Format(PyExc_ValueError,
                 "acl.util.ptr_to_numpy: data_type is %d, want numpy's number of a type: 0 bool, 1 int8, 2 uint8, "
                 "3 int16, 5 int32, 9 int64, 11 float32, 12 float64, 23 float16",
                 number);
    return {};
  }
  const Object type = call_numpy("dtype", Py_BuildValue("(s)", code));
  const Object item(type ? PyObject_GetAttrString(type.get(), "itemsize") : nullptr);
  size_t bytes = item ? PyLong_AsSize_t(item.get()) : 0;
  if (PyErr_Occurred()) return {};
  for (const int64_t dim : shape.values)
    if (dim < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(dim), &bytes) || bytes > PY_SSIZE_T_MAX) {
      PyErr_SetString(PyExc_ValueError,
                      "acl.util.ptr_to_numpy: shape has a negative size, or more bytes than any memory");
      return {};
    }
  if (!readable("ptr_to_numpy", address, bytes)) return {};
  constexpr int kWritable = 0x200;  // PyBUF_WRITE, which the limited interface has since 3.11
  static char nothing;
  const Object memory(PyMemoryView_FromMemory(bytes ? static_cast<char*>(address) : &nothing,
                                              static_cast<Py_ssize_t>(bytes), kWritable));
  const Object sizes(to_python(shape));
  const Object tuple(sizes ? PyList_AsTuple(sizes.get()) : nullptr);
  if (!memory || !tuple) return {};
  return call_numpy("ndarray", PyTuple_Pack(3, tuple.get(), type.get(), memory.get()));
}

// --- threads

/// Those that stop_thread has not joined yet, by their numbers.
PyObject* threads() {
  static PyObject* all = PyDict_New();
  return all;
}

/// threading's threads: a daemon, since a script that ends does not wait for them.
aclError start_thread(Callable function, const Any arguments, uint64_t* id) {
  const Object threading(PyImport_ImportModule("threading"));
  const Object type(threading ? PyObject_GetAttrString(threading.get(), "Thread") : nullptr);
  const Object options(
      Py_BuildValue("{s:O,s:(O),s:O}", "target", function.object, "args", arguments.object, "daemon", Py_True));
  const Object none(PyTuple_New(0));
  const Object thread(type && options && none ? PyObject_Call(type.get(), none.get(), options.get()) : nullptr);
  const Object started(thread ? PyObject_CallMethod(thread.get(), "start", nullptr) : nullptr);
  const Object ident(started ? PyObject_GetAttrString(thread.get(), "ident") : nullptr);
  if (!ident || !threads() || PyDict_SetItem(threads(), ident.get(), thread.get())) return ACL_ERROR_INTERNAL_ERROR;
  *id = PyLong_AsUnsignedLongLong(ident.get());
  return ACL_SUCCESS;
}

/// Waits for the thread to come back, which its function does by itself.
aclError stop_thread(uint64_t id) {
  const Object ident(PyLong_FromUnsignedLongLong(id));
  PyObject* found = ident && threads() ? PyDict_GetItemWithError(threads(), ident.get()) : nullptr;
  if (!found) return PyErr_Occurred() ? ACL_ERROR_INTERNAL_ERROR : ACL_ERROR_INVALID_PARAM;
  const Object thread = Object::borrow(found);
  const Object joined(PyObject_CallMethod(thread.get(), "join", nullptr));
  if (!joined || PyDict_DelItem(threads(), ident.get())) return ACL_ERROR_INTERNAL_ERROR;
  return ACL_SUCCESS;
}

constexpr Row kRows[] = {
    CALL_AS("bytes_to_ptr", "", bytes_to_ptr, "data -> ptr"),
    CALL_AS("ptr_to_bytes", "", ptr_to_bytes, "ptr, size -> data"),
    CALL_AS("numpy_to_ptr", "", numpy_to_ptr, "array -> ptr"),
    CALL_AS("numpy_contiguous_to_ptr", "", numpy_contiguous_to_ptr, "array -> ptr, contiguous"),
    CALL_AS("ptr_to_numpy", "", ptr_to_numpy, "ptr, shape, data_type -> array"),
    CALL_AS("start_thread", "", start_thread, "function, args -> thread_id"),
    CALL_AS("stop_thread", "", stop_thread, "thread_id"),
};

}  // namespace
const Table kUtil{"util", kRows};
}  // namespace pyacl
